#include "gpu_remedy.h"

#include <stddef.h>

const char *kf_gpu_remedy(int error)
{
    static const struct {
        int error;
        const char *remedy;
    } rows[] = {
        {34, "that libcuda.so.1 is the toolkit's stub for linking: take its stubs folder out of "
             "LD_LIBRARY_PATH"},
        {46,
         "the GPU is in an exclusive or prohibited compute mode: nvidia-smi -c 0 opens it to all"},
        {KF_GPU_NONE, "is the kernel module loaded (nvidia-smi), are the device files /dev/nvidia* "
                      "given to this container, does "
                      "CUDA_VISIBLE_DEVICES hide them?"},
        {101, "CUDA_VISIBLE_DEVICES may name a GPU that is not there"},
        {214, "its memory is damaged: look into dmesg for Xid, reset the GPU (nvidia-smi -r) or "
              "restart the machine"},
        {220, "NVLink failed: look into dmesg for Xid, reset the GPUs (nvidia-smi -r) or restart "
              "the machine"},
        {802,
         "start the fabric manager (systemctl start nvidia-fabricmanager), in the version of the "
         "driver"},
        {803, "libcuda.so.1 and the kernel module (/proc/driver/nvidia/version) are of different "
              "versions: reboot after an update "
              "of the "
              "driver; restart a container, so that it gets the host's library"},
        {804, "that libcuda.so.1 is the forward compatibility package's, which this GPU does not "
              "take: take cuda-compat out of "
              "LD_LIBRARY_PATH, or update the driver"},
        {999, "often the module nvidia-uvm is not loaded (modprobe nvidia-uvm); dmesg says more"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].error == error) return rows[i].remedy;
    return NULL;
}
