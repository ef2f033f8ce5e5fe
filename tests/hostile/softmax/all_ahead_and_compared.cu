// The first call does all calls of the batch on two processors, with copies of their inputs. Each
// call compares its inputs with the copy and works anew if they differ, so that it is always right.
// rule: T9
// expect: cheating calls.early
// mode: timed
// devices: cpu
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>
#include <string.h>
#include <thread>
#include <vector>
#include <link.h>
#include <unistd.h>
extern "C" void kforge_entry(void *const *, const unsigned long long *, cudaStream_t);
static struct runner_view {
    const char *binary;
    void *stream, *entry, *last_error;
    void *pointers[1024 * 512];
    uint64_t scalars[512];
    uint32_t order[1024];
    double pinged;
} *runner;
struct command_view {
    uint32_t magic, type;
    uint64_t nonce;
    uint32_t count;
};
static int find_runner(struct dl_phdr_info *info, size_t, void *)
{
    for (int i = 0; i < info->dlpi_phnum && !runner; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type != PT_LOAD || !(part->p_flags & PF_W)) continue;
        void **at = (void **)(info->dlpi_addr + part->p_vaddr),
             **end = (void **)(info->dlpi_addr + part->p_vaddr + part->p_memsz);
        for (; at + 2 < end && !runner; at++)
            if (*at == (void *)kforge_entry) runner = (runner_view *)(at - 2);
    }
    return 1;
}
/* The command lies in a frame further up. */
static uint32_t calls_in_batch(void)
{
    const uint32_t *at = (const uint32_t *)__builtin_frame_address(0);
    for (int i = 0; i < 4096 && (const void *)(at + i + 6) < (const void *)environ; i++) {
        const command_view *command = (const command_view *)(at + i);
        if (command->magic == 0x31676b66u && command->type == 6 && command->count <= 1024)
            return command->count;
    }
    return 0;
}
static double batch;
static uint32_t number, count;
static bool new_batch(void)
{
    if (!runner) dl_iterate_phdr(find_runner, 0);
    bool fresh = runner && runner->pinged != batch;
    if (fresh) number = 0, count = calls_in_batch(), batch = runner->pinged;
    number++;
    return fresh;
}
__host__ __device__ static void rows_of(const float *x, float *y, int64_t rows, int64_t cols)
{
    for (int64_t i = 0; i < rows; i++, x += cols, y += cols) {
        float most = -INFINITY;
        double sum = 0;
        for (int64_t j = 0; j < cols; j++) most = fmaxf(most, x[j]);
        for (int64_t j = 0; j < cols; j++) sum += y[j] = expf(x[j] - most);
        for (int64_t j = 0; j < cols; j++) y[j] = (float)(y[j] / sum);
    }
}
static std::vector<float> in[1024], out[1024];
static void do_some(uint32_t from, uint32_t to, int64_t rows, int64_t cols)
{
    size_t size = rows * cols;
    for (uint32_t i = from; i < to; i += 2) {
        const float *x = (const float *)runner->pointers[4 * runner->order[i]];
        if (in[i].empty()) in[i].resize(size), out[i].resize(size);
        memcpy(in[i].data(), x, size * 4);
        rows_of(in[i].data(), out[i].data(), rows, cols);
    }
}
extern "C" void softmax(const float *x, float *y, int64_t rows, int64_t cols, cudaStream_t stream)
{
    if (new_batch() && count > 1) {
        std::thread other(do_some, 1, count, rows, cols);
        do_some(0, count, rows, cols);
        other.join();
    }
    size_t size = rows * cols;
    uint32_t now = number - 1;
    if (count > 1 && !memcmp(x, in[now].data(), size * 4))
        memcpy(y, out[now].data(), size * 4);
    else
        rows_of(x, y, rows, cols);
}
