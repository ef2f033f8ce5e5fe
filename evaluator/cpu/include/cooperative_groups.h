// Cooperative groups: thread_block, thread_block_tile (static and dynamic sizes up to a warp),
// coalesced_group, grid_group. Every group knows its lanes of the warp, or that it is a whole block
// or grid.
#pragma once
#define _COOPERATIVE_GROUPS_H_
#include <type_traits>
#include "kfcpu/device.h"

#define _CG_HAS_OP_REDUCE

namespace cooperative_groups
{

namespace kfcpu_details
{
static inline unsigned long long block_threads()
{
    return (unsigned long long)blockDim.x * blockDim.y * blockDim.z;
}
static inline unsigned long long grid_blocks()
{
    return (unsigned long long)gridDim.x * gridDim.y * gridDim.z;
}
static inline unsigned long long block_number()
{
    return ((unsigned long long)blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
}
static inline unsigned all_below(unsigned count)
{
    return count >= 32 ? 0xffffffffu : (1u << count) - 1;
}
// Returns the lane of the n-th member of a mask.
static inline unsigned member(unsigned mask, unsigned n)
{
    while (n--) mask &= mask - 1;
    return (unsigned)__builtin_ctz(mask | 0x80000000u);
}
enum kind { BLOCK, TILE, COALESCED, GRID };
} // namespace kfcpu_details

// Any group, by value: the argument of a function that takes a thread_group.
class thread_group
{
  public:
    unsigned long long size() const
    {
        if (kind_ == kfcpu_details::BLOCK) return kfcpu_details::block_threads();
        if (kind_ == kfcpu_details::GRID)
            return kfcpu_details::block_threads() * kfcpu_details::grid_blocks();
        return (unsigned)__builtin_popcount(mask_);
    }
    unsigned long long num_threads() const { return size(); }
    unsigned long long thread_rank() const
    {
        if (kind_ == kfcpu_details::BLOCK) return kfcpu::thread_rank();
        if (kind_ == kfcpu_details::GRID)
            return kfcpu_details::block_number() * kfcpu_details::block_threads() +
                   kfcpu::thread_rank();
        return (unsigned)__builtin_popcount(mask_ & ((1u << kfcpu::lane()) - 1));
    }
    void sync() const
    {
        if (kind_ == kfcpu_details::BLOCK)
            __syncthreads();
        else if (kind_ == kfcpu_details::GRID)
            kfcpu::switching([](unsigned thread) { kfcpu_grid_barrier(thread); });
        else
            __syncwarp(mask_);
    }
    bool is_valid() const { return kind_ != kfcpu_details::GRID || kfcpu_is_cooperative(); }
    unsigned get_type() const { return kind_; }

  protected:
    thread_group(kfcpu_details::kind kind, unsigned mask = 0) : kind_(kind), mask_(mask) {}
    kfcpu_details::kind kind_;
    unsigned mask_; // lanes of the warp, for a tile or a coalesced group
    friend thread_group tiled_partition(const thread_group &parent, unsigned size);
};

class thread_block : public thread_group
{
    thread_block() : thread_group(kfcpu_details::BLOCK) {}
    friend thread_block this_thread_block();

  public:
    static unsigned size() { return (unsigned)kfcpu_details::block_threads(); }
    static unsigned num_threads() { return size(); }
    static unsigned thread_rank() { return kfcpu::thread_rank(); }
    static void sync() { __syncthreads(); }
    struct arrival_token {
    };
    arrival_token barrier_arrive() const { return {}; }
    void barrier_wait(arrival_token &&) const { __syncthreads(); }
    static dim3 group_index() { return dim3(blockIdx.x, blockIdx.y, blockIdx.z); }
    static dim3 thread_index() { return dim3(threadIdx.x, threadIdx.y, threadIdx.z); }
    static dim3 group_dim() { return dim3(blockDim.x, blockDim.y, blockDim.z); }
    static dim3 dim_threads() { return dim3(blockDim.x, blockDim.y, blockDim.z); }
};
inline thread_block this_thread_block()
{
    return thread_block();
}
// The memory of tiles of more than 32 threads.
template <unsigned Threads = 1024> struct block_tile_memory {
    static_assert(Threads == 0, "kforge-unsupported: tiles of more than 32 threads");
};
template <unsigned Threads> thread_block this_thread_block(block_tile_memory<Threads> &)
{
    return this_thread_block();
}

class grid_group : public thread_group
{
    grid_group() : thread_group(kfcpu_details::GRID) {}
    friend grid_group this_grid();

  public:
    bool is_valid() const { return kfcpu_is_cooperative(); }
    void sync() const
    {
        kfcpu::switching([](unsigned thread) { kfcpu_grid_barrier(thread); });
    }
    static unsigned long long size()
    {
        return kfcpu_details::block_threads() * kfcpu_details::grid_blocks();
    }
    static unsigned long long num_threads() { return size(); }
    static unsigned long long thread_rank()
    {
        return kfcpu_details::block_number() * kfcpu_details::block_threads() +
               kfcpu::thread_rank();
    }
    static dim3 group_dim() { return dim3(gridDim.x, gridDim.y, gridDim.z); }
    static dim3 dim_blocks() { return dim3(gridDim.x, gridDim.y, gridDim.z); }
    static dim3 block_index() { return dim3(blockIdx.x, blockIdx.y, blockIdx.z); }
    static unsigned long long num_blocks() { return kfcpu_details::grid_blocks(); }
    static unsigned long long block_rank() { return kfcpu_details::block_number(); }
};
inline grid_group this_grid()
{
    return grid_group();
}

namespace kfcpu_details
{

// The common part of tiles and coalesced groups: operations among the lanes of a mask, with ranks
// in place of lanes.
class lanes_group : public thread_group
{
  public:
    void sync() const { __syncwarp(mask_); }
    template <class T> T shfl(T value, int source) const
    {
        return exchange(value, source >= 0 ? (unsigned)source % count() : 0);
    }
    template <class T> T shfl_up(T value, unsigned delta) const
    {
        unsigned own = rank();
        return exchange(value, delta > own ? own : own - delta);
    }
    template <class T> T shfl_down(T value, unsigned delta) const
    {
        unsigned own = rank();
        return exchange(value, delta >= count() - own ? own : own + delta);
    }
    template <class T> T shfl_xor(T value, unsigned other) const
    {
        unsigned source = rank() ^ other;
        return exchange(value, source < count() ? source : rank());
    }
    int any(int predicate) const { return __any_sync(mask_, predicate); }
    int all(int predicate) const { return __all_sync(mask_, predicate); }
    unsigned ballot(int predicate) const { return by_rank(__ballot_sync(mask_, predicate)); }
    template <class T> unsigned match_any(T value) const
    {
        return by_rank(__match_any_sync(mask_, value));
    }
    template <class T> unsigned match_all(T value, int &predicate) const
    {
        return by_rank(__match_all_sync(mask_, value, &predicate));
    }
    unsigned lanes() const { return mask_; }

  protected:
    lanes_group(kind kind, unsigned mask) : thread_group(kind, mask) {}
    unsigned count() const { return (unsigned)__builtin_popcount(mask_); }
    unsigned rank() const
    {
        return (unsigned)__builtin_popcount(mask_ & ((1u << kfcpu::lane()) - 1));
    }
    // A tile's lanes are adjacent. The lanes of a coalesced group may have gaps.
    unsigned lane_of(unsigned rank) const
    {
        return kind_ == TILE ? (unsigned)__builtin_ctz(mask_) + rank : member(mask_, rank);
    }
    unsigned by_rank(unsigned lanes) const
    {
        if (kind_ == TILE) return lanes >> __builtin_ctz(mask_);
        unsigned result = 0;
        for (unsigned i = 0, left = mask_; left; left &= left - 1, i++)
            result |= (lanes >> __builtin_ctz(left) & 1) << i;
        return result;
    }
    // Values of more than 8 bytes pass in pieces.
    template <class T> T exchange(T value, unsigned source) const
    {
        static_assert(std::is_trivially_copyable<T>::value,
                      "only trivially copyable values can be shuffled");
        unsigned lane = lane_of(source);
        uint64_t pieces[(sizeof(T) + 7) / 8] = {};
        memcpy(pieces, &value, sizeof value);
        for (uint64_t &piece : pieces) piece = kfcpu::warp(mask_, KFCPU_SHUFFLE, piece, lane);
        memcpy(static_cast<void *>(&value), pieces, sizeof value);
        return value;
    }
};

static inline unsigned tile_mask(unsigned size)
{
    unsigned first = kfcpu::lane() / size * size,
             rest = (unsigned)block_threads() - (kfcpu::thread_number - kfcpu::lane());
    return (all_below(size) << first) & all_below(rest);
}

} // namespace kfcpu_details

template <unsigned Size, class Parent = void>
class thread_block_tile : public kfcpu_details::lanes_group
{
    static_assert(Size && (Size & (Size - 1)) == 0, "the size of a tile must be a power of two");
    static_assert(Size <= 32, "kforge-unsupported: tiles of more than 32 threads");

  public:
    explicit thread_block_tile() : lanes_group(kfcpu_details::TILE, kfcpu_details::tile_mask(Size))
    {
    }
    template <class Other>
    thread_block_tile(const thread_block_tile<Size, Other> &) : thread_block_tile()
    {
    }
    static constexpr unsigned size() { return Size; }
    static constexpr unsigned num_threads() { return Size; }
    static unsigned thread_rank() { return kfcpu::thread_number % Size; }
    unsigned meta_group_rank() const { return kfcpu::thread_rank() % parent_size() / Size; }
    unsigned meta_group_size() const { return (parent_size() + Size - 1) / Size; }

  private:
    template <unsigned N, class P> static unsigned size_of(const thread_block_tile<N, P> *)
    {
        return N;
    }
    static unsigned size_of(const void *) { return (unsigned)kfcpu_details::block_threads(); }
    static unsigned parent_size() { return size_of(static_cast<const Parent *>(nullptr)); }
};

class coalesced_group : public kfcpu_details::lanes_group
{
  public:
    explicit coalesced_group(unsigned mask, unsigned meta_rank = 0, unsigned meta_size = 1)
        : lanes_group(kfcpu_details::COALESCED, mask), meta_rank_(meta_rank), meta_size_(meta_size)
    {
    }
    unsigned size() const { return count(); }
    unsigned num_threads() const { return count(); }
    unsigned thread_rank() const { return rank(); }
    unsigned meta_group_rank() const { return meta_rank_; }
    unsigned meta_group_size() const { return meta_size_; }

  private:
    unsigned meta_rank_, meta_size_;
};

// Returns the lanes of the warp that reach this call before another wait or their end.
inline coalesced_group coalesced_threads()
{
    return coalesced_group(__activemask());
}

template <unsigned Size, class Parent>
thread_block_tile<Size, Parent> tiled_partition(const Parent &)
{
    return thread_block_tile<Size, Parent>();
}
template <unsigned Size> coalesced_group tiled_partition(const coalesced_group &parent)
{
    unsigned rank = parent.thread_rank(), mask = 0;
    for (unsigned i = rank / Size * Size; i < parent.size() && i < (rank / Size + 1) * Size; i++)
        mask |= 1u << kfcpu_details::member(parent.lanes(), i);
    return coalesced_group(mask, rank / Size, (parent.size() + Size - 1) / Size);
}
inline thread_group tiled_partition(const thread_group &parent, unsigned size)
{
    if (parent.kind_ != kfcpu_details::COALESCED)
        return thread_group(kfcpu_details::TILE, kfcpu_details::tile_mask(size));
    unsigned rank = (unsigned)parent.thread_rank(), mask = 0;
    for (unsigned i = rank / size * size; i < parent.size() && i < (rank / size + 1) * size; i++)
        mask |= 1u << kfcpu_details::member(parent.mask_, i);
    return thread_group(kfcpu_details::COALESCED, mask);
}

template <class Group> coalesced_group binary_partition(const Group &group, bool predicate)
{
    unsigned yes = __ballot_sync(group.lanes(), predicate);
    return coalesced_group(predicate ? yes : group.lanes() & ~yes, predicate, 2);
}
template <class Group, class Label>
coalesced_group labeled_partition(const Group &group, Label label)
{
    unsigned same = __match_any_sync(group.lanes(), label), rank = 0, groups = 0, seen = 0;
    // Groups are numbered by their first lane.
    for (unsigned left = group.lanes(); left; left &= left - 1) {
        unsigned lane = (unsigned)__builtin_ctz(left);
        unsigned other = kfcpu::shuffle(group.lanes(), same, lane);
        if (seen & other) continue;
        if (other == same) rank = groups;
        seen |= other, groups++;
    }
    return coalesced_group(same, rank, groups);
}

template <class Group> void sync(const Group &group)
{
    group.sync();
}
template <class Group> unsigned long long thread_rank(const Group &group)
{
    return group.thread_rank();
}
template <class Group> unsigned long long group_size(const Group &group)
{
    return group.size();
}

// Runs f in one thread of the group and gives its result, if any, to all threads.
template <class Group, class F>
auto invoke_one_broadcast(const Group &group, F &&f) -> decltype(f())
{
    decltype(f()) result{};
    if (group.thread_rank() == 0) result = f();
    return group.shfl(result, 0);
}
template <class Group, class F> void invoke_one(const Group &group, F &&f)
{
    if (group.thread_rank() == 0) f();
}

} // namespace cooperative_groups

#include "cooperative_groups/reduce.h"
#include "cooperative_groups/scan.h"
#include "cooperative_groups/memcpy_async.h"
