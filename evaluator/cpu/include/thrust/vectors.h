// Execution policies, pointers and vectors of Thrust.
#pragma once
#include "../cuda/std/all.h"
#include "../kfcpu/library.h"

namespace thrust
{

// Where an algorithm runs: in the calling thread, or as kernels of a stream.
struct KfcpuPolicy {
    bool here;
    cudaStream_t stream;
};
struct KfcpuSequential : KfcpuPolicy {
    constexpr KfcpuSequential() : KfcpuPolicy{true, nullptr} {}
};
struct KfcpuParallel : KfcpuPolicy {
    constexpr KfcpuParallel(cudaStream_t where = nullptr) : KfcpuPolicy{false, where} {}
    KfcpuParallel on(cudaStream_t where) const { return KfcpuParallel(where); }
    // The memory of temporary results is not the candidate's concern here.
    template <class Allocator> KfcpuParallel operator()(Allocator &&) const { return *this; }
};

static constexpr KfcpuSequential seq, host;
static constexpr KfcpuParallel device;
namespace cuda
{
static constexpr KfcpuParallel par, par_nosync;
}
namespace system
{
namespace cuda = ::thrust::cuda;
}

template <class T> constexpr bool is_policy = std::is_base_of<KfcpuPolicy, std::decay_t<T>>::value;
template <class T> using if_policy = std::enable_if_t<is_policy<T>, int>;
template <class T> using unless_policy = std::enable_if_t<!is_policy<T>, int>;

// ---- pointers ----

template <class T> class device_ptr
{
    T *at_;

  public:
    using iterator_category = std::random_access_iterator_tag;
    using value_type = std::remove_cv_t<T>;
    using difference_type = ptrdiff_t;
    using pointer = T *;
    using reference = std::add_lvalue_reference_t<T>;
    device_ptr() : at_(nullptr) {}
    device_ptr(std::nullptr_t) : at_(nullptr) {}
    explicit device_ptr(T *at) : at_(at) {}
    template <class U, class = std::enable_if_t<std::is_convertible<U *, T *>::value>>
    device_ptr(const device_ptr<U> &other) : at_(other.get())
    {
    }
    T *get() const { return at_; }
    reference operator*() const { return *at_; }
    T *operator->() const { return at_; }
    template <class I> decltype(auto) operator[](I i) const { return (at_[i]); }
    device_ptr &operator+=(ptrdiff_t n)
    {
        at_ += n;
        return *this;
    }
    device_ptr &operator-=(ptrdiff_t n) { return *this += -n; }
    device_ptr &operator++() { return *this += 1; }
    device_ptr &operator--() { return *this += -1; }
    device_ptr operator++(int)
    {
        device_ptr old = *this;
        at_++;
        return old;
    }
    device_ptr operator--(int)
    {
        device_ptr old = *this;
        at_--;
        return old;
    }
    friend device_ptr operator+(device_ptr p, ptrdiff_t n) { return p += n; }
    friend device_ptr operator+(ptrdiff_t n, device_ptr p) { return p += n; }
    friend device_ptr operator-(device_ptr p, ptrdiff_t n) { return p += -n; }
    friend ptrdiff_t operator-(device_ptr a, device_ptr b) { return a.at_ - b.at_; }
    friend bool operator==(device_ptr a, device_ptr b) { return a.at_ == b.at_; }
    friend bool operator!=(device_ptr a, device_ptr b) { return a.at_ != b.at_; }
    friend bool operator<(device_ptr a, device_ptr b) { return a.at_ < b.at_; }
    explicit operator bool() const { return at_ != nullptr; }
};

template <class T> device_ptr<T> device_pointer_cast(T *at)
{
    return device_ptr<T>(at);
}
template <class T> device_ptr<T> device_pointer_cast(const device_ptr<T> &at)
{
    return at;
}
template <class T> T *raw_pointer_cast(T *at)
{
    return at;
}
template <class T> T *raw_pointer_cast(const device_ptr<T> &at)
{
    return at.get();
}
template <class T> T &raw_reference_cast(T &reference)
{
    return reference;
}
template <class T> device_ptr<T> device_malloc(size_t n)
{
    void *memory = nullptr;
    cudaMalloc(&memory, n * sizeof(T));
    return device_ptr<T>((T *)memory);
}
template <class T> void device_free(device_ptr<T> at)
{
    cudaFree((void *)at.get());
}

// ---- vectors ----

template <class T> class host_vector : public std::vector<T>
{
  public:
    using std::vector<T>::vector;
    host_vector() = default;
    host_vector(const host_vector &) = default;
    host_vector(host_vector &&) = default;
    template <class Other, class = decltype(std::declval<const Other &>().begin().get())>
    host_vector(const Other &other) : std::vector<T>(other.begin(), other.end())
    {
    }
    host_vector &operator=(const host_vector &) = default;
    host_vector &operator=(host_vector &&) = default;
    template <class Other, class = decltype(std::declval<const Other &>().begin().get())>
    host_vector &operator=(const Other &other)
    {
        this->assign(other.begin(), other.end());
        return *this;
    }
};

// A vector in the device's memory.
template <class T> class device_vector
{
    T *data_ = nullptr;
    size_t size_ = 0, capacity_ = 0;

    void grow(size_t n)
    {
        if (n <= capacity_) return;
        void *memory = nullptr;
        if (cudaMalloc(&memory, n * sizeof(T)) != cudaSuccess) throw std::bad_alloc();
        std::copy(data_, data_ + size_, (T *)memory);
        if (data_) cudaFree(data_);
        data_ = (T *)memory;
        capacity_ = n;
    }

  public:
    using value_type = T;
    using size_type = size_t;
    using iterator = device_ptr<T>;
    using const_iterator = device_ptr<const T>;
    using pointer = device_ptr<T>;
    using reference = T &;
    device_vector() = default;
    explicit device_vector(size_t n) { resize(n); }
    device_vector(size_t n, const T &value) { resize(n, value); }
    device_vector(const device_vector &other) { assign(other.begin(), other.end()); }
    device_vector(device_vector &&other) { swap(other); }
    device_vector(std::initializer_list<T> list) { assign(list.begin(), list.end()); }
    device_vector(const std::vector<T> &other) { assign(other.begin(), other.end()); }
    template <class Iterator, class = typename std::iterator_traits<Iterator>::iterator_category>
    device_vector(Iterator first, Iterator last)
    {
        assign(first, last);
    }
    ~device_vector()
    {
        if (data_) cudaFree(data_);
    }
    device_vector &operator=(const device_vector &other)
    {
        if (this != &other) assign(other.begin(), other.end());
        return *this;
    }
    device_vector &operator=(device_vector &&other)
    {
        swap(other);
        return *this;
    }
    device_vector &operator=(const std::vector<T> &other)
    {
        assign(other.begin(), other.end());
        return *this;
    }
    template <class Iterator> void assign(Iterator first, Iterator last)
    {
        size_ = 0;
        size_t n = (size_t)std::distance(first, last);
        grow(n);
        std::copy(first, last, data_);
        size_ = n;
    }
    void assign(size_t n, const T &value)
    {
        size_ = 0;
        resize(n, value);
    }
    void resize(size_t n, const T &value = T())
    {
        grow(n);
        for (size_t i = size_; i < n; i++) data_[i] = value;
        size_ = n;
    }
    void reserve(size_t n) { grow(n); }
    void clear() { size_ = 0; }
    void push_back(const T &value)
    {
        T copy = value;
        if (size_ == capacity_) grow(capacity_ ? 2 * capacity_ : 16);
        data_[size_++] = copy;
    }
    void pop_back() { size_--; }
    void shrink_to_fit() {}
    iterator erase(iterator first, iterator last)
    {
        std::copy(last.get(), data_ + size_, first.get());
        size_ -= (size_t)(last - first);
        return first;
    }
    void swap(device_vector &other)
    {
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
        std::swap(capacity_, other.capacity_);
    }
    size_t size() const { return size_; }
    size_t capacity() const { return capacity_; }
    bool empty() const { return size_ == 0; }
    iterator begin() { return iterator(data_); }
    iterator end() { return iterator(data_ + size_); }
    const_iterator begin() const { return const_iterator(data_); }
    const_iterator end() const { return const_iterator(data_ + size_); }
    const_iterator cbegin() const { return begin(); }
    const_iterator cend() const { return end(); }
    pointer data() { return pointer(data_); }
    const_iterator data() const { return begin(); }
    T &operator[](size_t i) { return data_[i]; }
    const T &operator[](size_t i) const { return data_[i]; }
    T &front() { return data_[0]; }
    T &back() { return data_[size_ - 1]; }
    const T &front() const { return data_[0]; }
    const T &back() const { return data_[size_ - 1]; }
    friend bool operator==(const device_vector &a, const device_vector &b)
    {
        return a.size_ == b.size_ && std::equal(a.data_, a.data_ + a.size_, b.data_);
    }
};

} // namespace thrust
