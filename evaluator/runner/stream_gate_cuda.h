/* What a runner on a GPU puts into its stream around calls: waits and samples (stream_page.h). */
#ifndef KFORGE_STREAM_GATE_CUDA_H
#define KFORGE_STREAM_GATE_CUDA_H

#include "driver_cuda.h"
#include "stream_page.h"

typedef struct kf_stream_gate {
    const kf_cuda *cuda;
    cu_stream stream;
    /* Addresses of stream pages: the runner's own, and the one in use. */
    cu_pointer own, page;
} kf_stream_gate;

/* Makes a page with open gates. False after a message on standard error. `stream` may be NULL, the
 * legacy default stream. */
bool kf_stream_gate_begin(kf_stream_gate *gate, const kf_cuda *cuda, cu_stream stream);
/* Uses the page at this address. 0: the runner's own. */
void kf_stream_gate_take(kf_stream_gate *gate, cu_pointer page);
void kf_stream_gate_wait(const kf_stream_gate *gate, uint32_t call);
/* Has the stream copy a sample of `bytes` bytes at `output` to a slot. */
void kf_stream_gate_sample(const kf_stream_gate *gate, uint64_t nonce, uint32_t slot,
                           cu_pointer output, uint64_t bytes);

#endif
