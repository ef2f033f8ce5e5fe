// Kernels by address, for launches that name one by a pointer.
#include <pthread.h>
#include <stddef.h>
#include "kfcpu/exec.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct kfcpu_kernel *kernels;

void kfcpu_register_kernel(struct kfcpu_kernel *kernel)
{
    pthread_mutex_lock(&mutex);
    kernel->next = kernels;
    kernels = kernel;
    pthread_mutex_unlock(&mutex);
}

void kfcpu_forget_kernel(struct kfcpu_kernel *kernel)
{
    pthread_mutex_lock(&mutex);
    for (struct kfcpu_kernel **link = &kernels; *link; link = &(*link)->next)
        if (*link == kernel) {
            *link = kernel->next;
            break;
        }
    pthread_mutex_unlock(&mutex);
}

const struct kfcpu_kernel *kfcpu_find_kernel(const void *address)
{
    pthread_mutex_lock(&mutex);
    struct kfcpu_kernel *kernel = kernels;
    while (kernel && kernel->address != address) kernel = kernel->next;
    pthread_mutex_unlock(&mutex);
    return kernel;
}
