/* Hashes a shared object (include/kforge/build.h). */
#include <elf.h>
#include <string.h>

#include "kforge/build.h"

bool kf_elf_code_hash(const void *data, size_t size, char hex[KF_HASH_HEX], kf_error *error)
{
    Elf64_Ehdr header;
    if (size < sizeof header)
        return kf_fail(error, KF_ERROR_INPUT, "not an ELF file: %zu bytes", size);
    memcpy(&header, data, sizeof header);
    if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
        header.e_ident[EI_DATA] != ELFDATA2LSB)
        return kf_fail(error, KF_ERROR_INPUT, "not a 64-bit little-endian ELF file");
    kf_hash hash = kf_hash_bytes(data, size);
    kf_hash_hex(&hash, hex);
    return true;
}
