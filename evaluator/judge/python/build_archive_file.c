#include "build_archive_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "kforge/build.h"

int kf_build_archive_file_open(kf_error *error)
{
    int fd = memfd_create("kforge-crate", MFD_CLOEXEC);
    if (fd < 0) kf_fail(error, KF_ERROR_MACHINE, "memfd_create: %s", strerror(errno));
    return fd;
}

bool kf_build_archive_file_map(kf_build_archive_file *file, int fd, kf_error *error)
{
    struct stat status;
    if (fstat(fd, &status) < 0)
        return kf_fail(error, KF_ERROR_MACHINE, "fstat: %s", strerror(errno));
    if (status.st_size <= 0 || (uint64_t)status.st_size > KF_BINARY_BYTES) return true;
    file->data = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (file->data == MAP_FAILED) {
        file->data = NULL;
        return kf_fail(error, KF_ERROR_MEMORY, "out of memory for what a jail has left");
    }
    file->size = (size_t)status.st_size;
    file->mapped = true;
    return true;
}

void kf_build_archive_file_free(kf_build_archive_file *file)
{
    if (file->mapped)
        munmap(file->data, file->size);
    else
        free(file->data);
    *file = (kf_build_archive_file){0};
}
