/* Reads just enough of an ELF64 little-endian file (System V ABI, "Object Files") to hash what runs. The bytes come from a build that a
 * candidate controls, so nothing in them is trusted. */
#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "kforge/build.h"

#define EMBEDDED 16

typedef struct elf_view {
    const unsigned char *data;
    size_t size;
} elf_view;

static bool inside(const elf_view *view, uint64_t offset, uint64_t size)
{
    return offset <= view->size && size <= view->size - offset;
}

/* Sections that hold behaviour. Symbol and string tables, notes (build id), comments, unwind tables and hash tables do not. */
static bool decides_behaviour(const Elf64_Shdr *section, const char *name)
{
    if (!(section->sh_flags & SHF_ALLOC)) return false;
    switch (section->sh_type) {
    case SHT_PROGBITS: return strncmp(name, ".eh_frame", 9) != 0 && strcmp(name, ".interp") != 0 && strncmp(name, ".note", 5) != 0;
    case SHT_INIT_ARRAY:
    case SHT_FINI_ARRAY:
    case SHT_PREINIT_ARRAY:
    case SHT_NOBITS: return true;
    default: return false;
    }
}

/* Device code travels in .nv_fatbin as ELF files of its own, beside line tables that hold folders and line numbers: their code counts. Hashes of
 * at most `most` of them; 0: none, or too many, so the bytes as they are must do. */
static size_t hash_embedded(const unsigned char *data, size_t size, char (*hashes)[KF_HASH_HEX], size_t most)
{
    size_t count = 0;
    for (size_t at = 0; at + sizeof(Elf64_Ehdr) <= size; at += 8) {
        if (memcmp(data + at, ELFMAG, SELFMAG) != 0) continue;
        if (count == most || !kf_elf_code_hash(data + at, size - at, hashes[count], NULL)) return 0;
        count++;
    }
    return count;
}

bool kf_elf_code_hash(const void *data, size_t size, char hex[KF_HASH_HEX], kf_error *error)
{
    elf_view view = {data, size};
    Elf64_Ehdr header;
    if (size < sizeof header) return kf_fail(error, KF_ERROR_INPUT, "not an ELF file: %zu bytes", size);
    memcpy(&header, data, sizeof header);
    if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
        header.e_ident[EI_DATA] != ELFDATA2LSB)
        return kf_fail(error, KF_ERROR_INPUT, "not a 64-bit little-endian ELF file");
    uint64_t count = header.e_shnum;
    if (header.e_shentsize != sizeof(Elf64_Shdr) || !count || header.e_shstrndx >= count ||
        !inside(&view, header.e_shoff, count * sizeof(Elf64_Shdr)))
        return kf_fail(error, KF_ERROR_INPUT, "the ELF section table lies outside the file");
    Elf64_Shdr names;
    memcpy(&names, view.data + header.e_shoff + header.e_shstrndx * sizeof names, sizeof names);
    if (!inside(&view, names.sh_offset, names.sh_size) || !names.sh_size || view.data[names.sh_offset + names.sh_size - 1] != '\0')
        return kf_fail(error, KF_ERROR_INPUT, "the ELF section names lie outside the file");

    kf_autofree const char **parts = calloc(2 * count, sizeof *parts);
    kf_autofree size_t *sizes = calloc(2 * count, sizeof *sizes);
    kf_autofree uint64_t *empty_sizes = calloc(count, sizeof *empty_sizes);
    if (!parts || !sizes || !empty_sizes)
        return kf_fail(error, KF_ERROR_MEMORY, "out of memory for %llu ELF sections", (unsigned long long)count);
    size_t used = 0;
    char embedded[EMBEDDED][KF_HASH_HEX] = {{0}};
    for (uint64_t i = 0; i < count; i++) {
        Elf64_Shdr section;
        memcpy(&section, view.data + header.e_shoff + i * sizeof section, sizeof section);
        if (section.sh_name >= names.sh_size)
            return kf_fail(error, KF_ERROR_INPUT, "ELF section %llu has a name outside the table", (unsigned long long)i);
        const char *name = (const char *)view.data + names.sh_offset + section.sh_name;
        if (!decides_behaviour(&section, name)) continue;
        parts[used] = name;
        sizes[used++] = strlen(name);
        if (section.sh_type == SHT_NOBITS) { /* only its size means anything */
            empty_sizes[i] = section.sh_size;
            parts[used] = (const char *)&empty_sizes[i];
            sizes[used++] = sizeof empty_sizes[i];
        } else {
            if (!inside(&view, section.sh_offset, section.sh_size))
                return kf_fail(error, KF_ERROR_INPUT, "ELF section %s lies outside the file", name);
            bool device = strcmp(name, ".nv_fatbin") == 0 &&
                          hash_embedded(view.data + section.sh_offset, section.sh_size, embedded, EMBEDDED) > 0;
            parts[used] = device ? (const char *)embedded : (const char *)view.data + section.sh_offset;
            sizes[used++] = device ? sizeof embedded : section.sh_size;
        }
    }
    if (!used) return kf_fail(error, KF_ERROR_INPUT, "the ELF file holds no code");
    kf_hash_parts_hex(hex, parts, sizes, used);
    return true;
}
