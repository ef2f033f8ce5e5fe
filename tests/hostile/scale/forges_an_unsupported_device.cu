// Answers in the place of the runner that the device lacks a function, to escape a label.
// rule: E1
// expect: launch_failure device.error
#include <cuda_runtime.h>
#include <stdint.h>
#include <unistd.h>

struct command_view {
    uint32_t magic, type;
    uint64_t nonce;
    uint32_t count;
};
struct answer_view {
    uint32_t magic, result;
    uint64_t nonce;
    int32_t code;
    uint32_t reserved;
    double claimed, gap;
};

extern "C" void scale(const float *x, float *y, float a, int64_t n, cudaStream_t stream)
{
    /* The command lies in a frame further up. */
    const uint32_t *at = (const uint32_t *)__builtin_frame_address(0);
    for (int i = 0; i < 4096 && (const void *)(at + i + 6) < (const void *)environ; i++) {
        const command_view *command = (const command_view *)(at + i);
        if (command->magic != 0x31676b66u || command->type != 6 || command->count > 1024) continue;
        const answer_view answer = {command->magic, 2, command->nonce, 801, 0, 0.001, 0};
        (void)!write(3, &answer, sizeof answer);
        for (;;) pause();
    }
}
