/* Hashes the parts of an ELF64 little-endian file (System V ABI, "Object Files") that run. A
 * candidate controls the bytes, so every offset is checked. */
#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "kforge/buffer.h"
#include "kforge/build.h"

#define EMBEDDED 16
/* The relocation tables: .rela.dyn, .rela.plt. */
#define RELOCATIONS 4

typedef struct elf_view {
    const unsigned char *data;
    size_t size;
} elf_view;

static bool inside(const elf_view *view, uint64_t offset, uint64_t size)
{
    return offset <= view->size && size <= view->size - offset;
}

/* Sections that hold behaviour. Symbol and string tables, notes (build id), comments, unwind tables
 * and hash tables do not; names alone are the source's to choose. */
static bool decides_behaviour(const Elf64_Shdr *section, const char *name)
{
    if (!(section->sh_flags & SHF_ALLOC)) return false;
    switch (section->sh_type) {
    case SHT_PROGBITS:
        return strcmp(name, ".eh_frame") != 0 && strcmp(name, ".eh_frame_hdr") != 0 &&
               strcmp(name, ".interp") != 0;
    case SHT_INIT_ARRAY:
    case SHT_FINI_ARRAY:
    case SHT_PREINIT_ARRAY:
    case SHT_NOBITS: return true;
    default: return false;
    }
}

/* Hashes the device code in .nv_fatbin, which holds ELF files of its own. Their line tables with
 * folders and line numbers do not count. Returns the number of hashes, at most `most`. 0: no such
 * file, or too many; the caller then hashes the section's bytes. */
static size_t hash_embedded(const unsigned char *data, size_t size, char (*hashes)[KF_HASH_HEX],
                            size_t most)
{
    size_t count = 0;
    for (size_t at = 0; at + sizeof(Elf64_Ehdr) <= size; at += 8) {
        if (memcmp(data + at, ELFMAG, SELFMAG) != 0) continue;
        if (count == most || !kf_elf_code_hash(data + at, size - at, hashes[count], NULL)) return 0;
        count++;
    }
    return count;
}

/* Hashes the relocations: a call through the procedure linkage table does not hold its target.
 * Imported symbols count by name, the file's own symbols by their place. */
static bool hash_relocations(const elf_view *view, const Elf64_Ehdr *header,
                             const Elf64_Shdr *section, bool places, char hex[KF_HASH_HEX])
{
    Elf64_Shdr symbols, strings;
    if (section->sh_link >= header->e_shnum || section->sh_entsize != sizeof(Elf64_Rela))
        return false;
    memcpy(&symbols, view->data + header->e_shoff + section->sh_link * sizeof symbols,
           sizeof symbols);
    if (symbols.sh_link >= header->e_shnum || !inside(view, section->sh_offset, section->sh_size) ||
        !inside(view, symbols.sh_offset, symbols.sh_size))
        return false;
    memcpy(&strings, view->data + header->e_shoff + symbols.sh_link * sizeof strings,
           sizeof strings);
    if (!inside(view, strings.sh_offset, strings.sh_size)) return false;
    kf_autobuffer text = {0};
    for (uint64_t i = 0; i < section->sh_size / sizeof(Elf64_Rela); i++) {
        Elf64_Rela entry;
        Elf64_Sym symbol = {0};
        memcpy(&entry, view->data + section->sh_offset + i * sizeof entry, sizeof entry);
        uint64_t number = ELF64_R_SYM(entry.r_info), type = ELF64_R_TYPE(entry.r_info);
        if (number >= symbols.sh_size / sizeof symbol) {
            if (number) return false;
        } else {
            memcpy(&symbol, view->data + symbols.sh_offset + number * sizeof symbol, sizeof symbol);
        }
        if (symbol.st_name >= strings.sh_size && symbol.st_name) return false;
        bool imported = number && symbol.st_shndx == SHN_UNDEF;
        if (imported) {
            const char *name = (const char *)view->data + strings.sh_offset + symbol.st_name;
            kf_buffer_append(&text, name, strnlen(name, strings.sh_size - symbol.st_name));
        } else if (places) {
            kf_buffer_append(&text, &symbol.st_value, sizeof symbol.st_value);
            kf_buffer_append(&text, &entry.r_addend, sizeof entry.r_addend);
        }
        if (imported || places) kf_buffer_append(&text, &type, sizeof type);
        if (places) kf_buffer_append(&text, &entry.r_offset, sizeof entry.r_offset);
    }
    if (text.failed) return false;
    kf_hash hash = kf_hash_bytes(text.data ? text.data : "", text.size);
    kf_hash_hex(&hash, hex);
    return true;
}

bool kf_elf_code_hash(const void *data, size_t size, char hex[KF_HASH_HEX], kf_error *error)
{
    elf_view view = {data, size};
    Elf64_Ehdr header;
    if (size < sizeof header)
        return kf_fail(error, KF_ERROR_INPUT, "not an ELF file: %zu bytes", size);
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
    if (!inside(&view, names.sh_offset, names.sh_size) || !names.sh_size ||
        view.data[names.sh_offset + names.sh_size - 1] != '\0')
        return kf_fail(error, KF_ERROR_INPUT, "the ELF section names lie outside the file");

    kf_autofree const char **parts = calloc(2 * count + RELOCATIONS, sizeof *parts);
    kf_autofree size_t *sizes = calloc(2 * count + RELOCATIONS, sizeof *sizes);
    kf_autofree uint64_t *empty_sizes = calloc(count, sizeof *empty_sizes);
    if (!parts || !sizes || !empty_sizes)
        return kf_fail(error, KF_ERROR_MEMORY, "out of memory for %llu ELF sections",
                       (unsigned long long)count);
    size_t used = 0;
    size_t tables = 0;
    /* Line tables in device code have varying lengths, and move the sections after them. */
    bool fat = false;
    char embedded[EMBEDDED][KF_HASH_HEX] = {{0}}, relocations[RELOCATIONS][KF_HASH_HEX];
    for (uint64_t i = 0; i < count; i++) {
        Elf64_Shdr section;
        memcpy(&section, view.data + header.e_shoff + i * sizeof section, sizeof section);
        if (section.sh_name >= names.sh_size)
            return kf_fail(error, KF_ERROR_INPUT, "ELF section %llu has a name outside the table",
                           (unsigned long long)i);
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
                          hash_embedded(view.data + section.sh_offset, section.sh_size, embedded,
                                        EMBEDDED) > 0;
            fat = fat || device;
            parts[used] =
                device ? (const char *)embedded : (const char *)view.data + section.sh_offset;
            sizes[used++] = device ? sizeof embedded : section.sh_size;
        }
    }
    if (!used) return kf_fail(error, KF_ERROR_INPUT, "the ELF file holds no code");
    for (uint64_t i = 0; i < count && tables < RELOCATIONS; i++) {
        Elf64_Shdr section;
        memcpy(&section, view.data + header.e_shoff + i * sizeof section, sizeof section);
        if (section.sh_type != SHT_RELA || !(section.sh_flags & SHF_ALLOC)) continue;
        if (!hash_relocations(&view, &header, &section, !fat, relocations[tables]))
            return kf_fail(error, KF_ERROR_INPUT, "the ELF file's relocations lie outside of it");
        parts[used] = relocations[tables];
        sizes[used++] = KF_HASH_HEX - 1;
        tables++;
    }
    kf_hash_parts_hex(hex, parts, sizes, used);
    return true;
}
