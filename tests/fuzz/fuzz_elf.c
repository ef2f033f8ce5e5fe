/* Runs the ELF reader on the bytes that a build may leave. */
#include <stddef.h>
#include <stdint.h>

#include "kforge/build.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char hex[KF_HASH_HEX];
    kf_error error;
    kf_elf_code_hash(data, size, hex, &error);
    return 0;
}
