// As order_of_the_batch_launched.cu, with a kernel that fills a fraction of the device: alone a call takes long, in a batch all are done side by side, and each
// launches an empty kernel, so that none is faster than a launch.
// rule: T9
// expect: wrong_result stream.unordered
// mode: timed
// devices: cuda
#include <cuda_runtime.h>
#include <link.h>
#include <stdint.h>
#include <unistd.h>

extern "C" void kforge_entry(void *const *, const unsigned long long *, cudaStream_t);

static struct runner_view {
    const char *binary;
    void *stream, *entry, *last_error;
    void *pointers[1024 * 512 / 4][4];
    uint64_t scalars[512];
    uint32_t order[1024];
    double pinged;
} * runner;

struct command_view {
    uint32_t magic, type;
    uint64_t nonce;
    uint32_t count;
};

struct set_view {
    const float *x;
    float *y;
};

static int find_runner(struct dl_phdr_info *info, size_t, void *)
{
    for (int i = 0; i < info->dlpi_phnum && !runner; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type != PT_LOAD || !(part->p_flags & PF_W)) continue;
        void **at = (void **)(info->dlpi_addr + part->p_vaddr), **end = (void **)(info->dlpi_addr + part->p_vaddr + part->p_memsz);
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
        if (command->magic == 0x31676b66u && command->type == 6 && command->count <= 1024) return command->count;
    }
    return 0;
}

__global__ void scale_sets(const set_view *sets, float a, int64_t n)
{
    const set_view set = sets[blockIdx.x];
    for (int64_t i = threadIdx.x; i < n; i += blockDim.x) set.y[i] = a * set.x[i];
}

__global__ void nothing(void) {}

extern "C" void scale(const float *x, float *y, float a, int64_t n, cudaStream_t stream)
{
    static double batch;
    static uint32_t done;
    static set_view sets[1024], *device;
    if (!runner) dl_iterate_phdr(find_runner, 0);
    if (!device) cudaMalloc(&device, sizeof sets);
    if (runner && runner->pinged == batch && done) {
        nothing<<<1, 1, 0, stream>>>();
        return;
    }
    done = runner ? calls_in_batch() : 0;
    sets[0] = {x, y};
    for (uint32_t i = 0; i < done; i++) {
        void **set = runner->pointers[runner->order[i]];
        sets[i] = {(const float *)set[0], (float *)set[1]};
    }
    if (done) batch = runner->pinged;
    uint32_t count = done ? done : 1;
    cudaMemcpyAsync(device, sets, count * sizeof *sets, cudaMemcpyHostToDevice, stream);
    scale_sets<<<count, 64, 0, stream>>>(device, a, n);
}
