/* kforge-runner-sanitize FOLDER BINARY: calls a candidate once, under compute-sanitizer, on buffers
 * of its own.
 *
 * The buffers that the judge shares with a timed runner lie in large allocations. Here each buffer
 * is an allocation of exactly its size, so that the first byte after it is out of bounds. The
 * candidate's own output is discarded, so that it does not mix with that of compute-sanitizer. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "driver_cuda.h"
#include "sanitize_plan.h"

typedef void (*entry_function)(void *const *buffers, const uint64_t *scalars, void *stream);

static kf_cuda cuda;

static int said(cu_result result, const char *what)
{
    if (result == CU_SUCCESS) return 1;
    char words[256];
    kf_cuda_describe(&cuda, result, words, sizeof words);
    fprintf(stderr, "kforge-runner-sanitize: %s: %s\n", what, words);
    return 0;
}

static int read_plan(const char *folder, kf_sanitize_plan *plan)
{
    char path[4200];
    snprintf(path, sizeof path, "%s/plan", folder);
    FILE *file = fopen(path, "rb");
    int good = file && fread(plan, sizeof *plan, 1, file) == 1 &&
               plan->magic == KF_SANITIZE_MAGIC && plan->count <= KF_SANITIZE_ARGUMENTS;
    if (file) fclose(file);
    if (!good) fprintf(stderr, "kforge-runner-sanitize: %s is no plan\n", path);
    return good;
}

static int fill(const char *folder, uint32_t argument, cu_pointer to, uint64_t bytes,
                cu_stream stream)
{
    char path[4200];
    snprintf(path, sizeof path, "%s/argument-%u", folder, argument);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    void *data = fd >= 0 ? mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
    if (fd >= 0) close(fd);
    if (data == MAP_FAILED) {
        fprintf(stderr, "kforge-runner-sanitize: %s cannot be read\n", path);
        return 0;
    }
    int good = said(cuda.copy_in(to, data, bytes, stream), "filling a buffer") &&
               said(cuda.stream_synchronize(stream), "filling");
    munmap(data, bytes);
    return good;
}

static void be_quiet(void)
{
    int null = open("/dev/null", O_WRONLY);
    if (null < 0) return;
    dup2(null, 1);
    dup2(null, 2);
}

int main(int argc, char **argv)
{
    kf_sanitize_plan plan;
    void *buffers[KF_SANITIZE_ARGUMENTS] = {0};
    char words[512];
    cu_device device;
    cu_context context;
    cu_stream stream;
    if (argc != 3 || !read_plan(argv[1], &plan)) return 2;
    if (!kf_cuda_load(&cuda, words, sizeof words)) {
        fprintf(stderr, "kforge-runner-sanitize: %s\n", words);
        return 2;
    }
    if (!said(cuda.device_get(&device, 0), "device 0") ||
        !said(cuda.context_retain(&context, device), "a context") ||
        !said(cuda.context_set(context), "the context") ||
        !said(cuda.stream_create(&stream, CU_STREAM_NON_BLOCKING), "a stream"))
        return 2;
    for (uint32_t i = 0; i < plan.count; i++) {
        cu_pointer memory;
        if (!plan.bytes[i]) continue;
        if (!said(cuda.allocate(&memory, plan.bytes[i]), "a buffer") ||
            (plan.content[i] && !fill(argv[1], i, memory, plan.bytes[i], stream)))
            return 2;
        buffers[i] = (void *)(uintptr_t)memory;
    }
    be_quiet();
    void *library = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL),
         *symbol = library ? dlsym(library, "kforge_entry") : NULL;
    entry_function entry;
    if (!symbol) return 3;
    memcpy(&entry, &symbol, sizeof entry);
    entry(buffers, plan.scalars, stream);
    int failed = cuda.stream_synchronize(stream) != CU_SUCCESS;
    failed |= cuda.context_synchronize() != CU_SUCCESS;
    _exit(failed ? 4 : 0);
}
