// Streams and events: handles, flags, priorities, order, times, callbacks.
#include <time.h>
#include "check.h"

__global__ void append(int *log, int *length, int value)
{
    log[(*length)++] = value;
}

static void CUDART_CB host_function(void *data) { ++*(int *)data; }
static void CUDART_CB callback(cudaStream_t, cudaError_t status, void *data)
{
    if (status == cudaSuccess) ++*(int *)data;
}

int main()
{
    int *log, *length, calls = 0;
    OK(cudaMallocManaged(&log, 100 * sizeof *log));
    OK(cudaMallocManaged(&length, sizeof *length));
    *length = 0;
    cudaStream_t a, b, urgent;
    OK(cudaStreamCreate(&a));
    OK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
    int least, greatest, priority;
    OK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    CHECK(greatest < least);
    OK(cudaStreamCreateWithPriority(&urgent, cudaStreamNonBlocking, greatest));
    OK(cudaStreamGetPriority(urgent, &priority));
    CHECK(priority == greatest);
    unsigned flags;
    OK(cudaStreamGetFlags(b, &flags));
    CHECK(flags == cudaStreamNonBlocking);
    unsigned long long id_a, id_b;
    OK(cudaStreamGetId(a, &id_a));
    OK(cudaStreamGetId(b, &id_b));
    CHECK(id_a != id_b);

    cudaEvent_t start, middle, end, untimed;
    OK(cudaEventCreate(&start));
    OK(cudaEventCreateWithFlags(&middle, cudaEventDefault));
    OK(cudaEventCreate(&end));
    OK(cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming));
    float ms;
    EXPECT(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&ms, start, end)); // not recorded
    OK(cudaEventQuery(start));
    timespec before, after;
    clock_gettime(CLOCK_MONOTONIC, &before);
    OK(cudaEventRecord(start, a));
    append<<<1, 1, 0, a>>>(log, length, 1);
    OK(cudaEventRecord(middle, a));
    OK(cudaStreamWaitEvent(b, middle, 0));
    append<<<1, 1, 0, b>>>(log, length, 2);
    OK(cudaLaunchHostFunc(b, host_function, &calls));
    OK(cudaStreamAddCallback(b, callback, &calls, 0));
    timespec pause = {0, 2000000};
    nanosleep(&pause, nullptr);
    OK(cudaEventRecord(end, b));
    append<<<1, 1, 0, cudaStreamPerThread>>>(log, length, 3);
    append<<<1, 1, 0, cudaStreamLegacy>>>(log, length, 4);
    append<<<1, 1>>>(log, length, 5);
    OK(cudaEventSynchronize(end));
    OK(cudaStreamSynchronize(a));
    OK(cudaStreamQuery(b));
    OK(cudaStreamSynchronize(0));
    OK(cudaDeviceSynchronize());
    CHECK(*length == 5);
    for (int i = 0; i < 5; i++) CHECK(log[i] == i + 1);
    CHECK(calls == 2);
    OK(cudaEventElapsedTime(&ms, start, end));
    clock_gettime(CLOCK_MONOTONIC, &after);
    CHECK(ms >= 2 && ms <= 1e3 * (after.tv_sec - before.tv_sec) + 1e-6 * (after.tv_nsec - before.tv_nsec) + 0.01);
    OK(cudaEventRecord(untimed, a));
    EXPECT(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&ms, start, untimed));

    cudaStreamAttrValue value = {}, back = {};
    value.accessPolicyWindow.base_ptr = log;
    value.accessPolicyWindow.num_bytes = 100;
    value.accessPolicyWindow.hitRatio = 0.5f;
    value.accessPolicyWindow.hitProp = cudaAccessPropertyPersisting;
    OK(cudaStreamSetAttribute(a, cudaStreamAttributeAccessPolicyWindow, &value));
    OK(cudaStreamGetAttribute(a, cudaStreamAttributeAccessPolicyWindow, &back));
    CHECK(back.accessPolicyWindow.num_bytes == 100);

    OK(cudaEventDestroy(start));
    OK(cudaStreamDestroy(a));
#ifdef KFCPU_WARP // handles that are gone are noticed here, on a GPU they are undefined behaviour
    EXPECT(cudaErrorInvalidResourceHandle, cudaEventRecord(start, a));
    EXPECT(cudaErrorInvalidResourceHandle, cudaStreamDestroy(a));
    append<<<1, 1, 0, a>>>(log, length, 6);
    EXPECT(cudaErrorInvalidResourceHandle, cudaGetLastError());
    EXPECT(cudaErrorInvalidResourceHandle, cudaMemsetAsync(log, 0, 4, a));
#endif
    return 0;
}
