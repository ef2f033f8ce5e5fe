#include "stream_gate_cuda.h"

#include "regions_cuda.h"

bool kf_stream_gate_begin(kf_stream_gate *gate, const kf_cuda *cuda, cu_stream stream)
{
    *gate = (kf_stream_gate){.cuda = cuda, .stream = stream};
    if (!kf_cuda_said(cuda, cuda->allocate(&gate->own, sizeof(kf_stream_page)),
                      "memory for the stream page") ||
        !kf_cuda_said(
            cuda, cuda->set_bytes(gate->own, KF_GATE_OPEN & 0xff, sizeof(kf_stream_page), stream),
            "opening the gates"))
        return false;
    gate->page = gate->own;
    return true;
}

void kf_stream_gate_take(kf_stream_gate *gate, cu_pointer page)
{
    gate->page = page ? page : gate->own;
}

void kf_stream_gate_wait(const kf_stream_gate *gate, uint32_t call)
{
    if (!gate->page || call >= KF_WIRE_MAX_SETS) return;
    gate->cuda->stream_wait(gate->stream,
                            gate->page + offsetof(kf_stream_page, gates) + 4 * (cu_pointer)call,
                            KF_GATE_OPEN, CU_WAIT_EQUAL);
}

void kf_stream_gate_sample(const kf_stream_gate *gate, uint64_t nonce, uint32_t slot,
                           cu_pointer output, uint64_t bytes)
{
    if (!gate->page || !output || !bytes || slot >= KF_SAMPLE_SLOTS) return;
    const kf_stream_sample sample = kf_sample_layout(nonce, slot, bytes);
    const cu_rows rows = {
        .from = {.type = CU_MEMORY_DEVICE, .device = output + sample.offset, .pitch = sample.pitch},
        .to = {.type = CU_MEMORY_DEVICE,
               .device = gate->page + offsetof(kf_stream_page, samples) +
                         slot * (cu_pointer)sizeof(((kf_stream_page *)0)->samples[0]),
               .pitch = sample.width},
        .width = sample.width,
        .height = sample.rows};
    gate->cuda->copy_rows(&rows, gate->stream);
}
