// Errors: the thread's last error, the error that broke the context, and the names of errors.
#include "api_internal.h"

#include <atomic>

namespace
{
thread_local cudaError_t last = cudaSuccess;
std::atomic<cudaError_t> broken{cudaSuccess};

struct row {
    cudaError_t error;
    const char *name, *text;
};
const row rows[] = {
    {cudaSuccess, "cudaSuccess", "no error"},
#define KFCPU_ERROR(name, value, text) {cudaError##name, "cudaError" #name, text},
#include "kfcpu_errors.inc"
#undef KFCPU_ERROR
};

const row *find_row(cudaError_t error)
{
    for (const row &r : rows)
        if (r.error == error) return &r;
    return nullptr;
}
} // namespace

namespace kfcpu_api
{

std::recursive_mutex state;

cudaError_t note(cudaError_t error)
{
    if (error != cudaSuccess && error != cudaErrorNotReady) last = error;
    return error;
}

cudaError_t context_error()
{
    return broken.load(std::memory_order_relaxed);
}

void break_context(cudaError_t error)
{
    cudaError_t none = cudaSuccess;
    broken.compare_exchange_strong(none, error);
}

void mend_context()
{
    broken = cudaSuccess;
    last = cudaSuccess;
}

} // namespace kfcpu_api

using namespace kfcpu_api;

// Returns the last error and clears it. After a failed kernel, later calls return its error again.
cudaError_t cudaGetLastError(void)
{
    cudaError_t error = last;
    last = cudaSuccess;
    return error;
}

cudaError_t cudaPeekAtLastError(void)
{
    return last;
}

const char *cudaGetErrorName(cudaError_t error)
{
    const row *r = find_row(error);
    return r ? r->name : "unrecognized error code";
}

const char *cudaGetErrorString(cudaError_t error)
{
    const row *r = find_row(error);
    return !r ? "unrecognized error code" : r->text ? r->text : r->name;
}

cudaError_t cudaDriverGetVersion(int *version)
{
    if (!version) return note(cudaErrorInvalidValue);
    *version = 13000;
    return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
    return cudaDriverGetVersion(version);
}
