/* Scans an ELF64 little-endian file (System V ABI, "Object Files"). A candidate controls the bytes,
 * so every offset is checked before it is used. */
#include <elf.h>
#include <stdint.h>
#include <string.h>

#include "scan_internal.h"

/* entries of a table */
#define MAX_ENTRIES (1u << 20)

typedef struct view {
    const unsigned char *data;
    size_t size;
} view;

static bool inside(const view *v, uint64_t offset, uint64_t size)
{
    return offset <= v->size && size <= v->size - offset;
}

/* Returns a string of the table at `section`, and its size. NULL if it is outside of the table or
 * has no end. */
static const char *string_at(const view *v, const Elf64_Shdr *section, uint64_t offset,
                             size_t *size)
{
    if (section->sh_type == SHT_NOBITS || !inside(v, section->sh_offset, section->sh_size) ||
        offset >= section->sh_size)
        return NULL;
    const char *text = (const char *)v->data + section->sh_offset + offset;
    const char *end = memchr(text, '\0', section->sh_size - offset);
    if (!end) return NULL;
    *size = (size_t)(end - text);
    return text;
}

static Elf64_Shdr section_at(const view *v, const Elf64_Ehdr *header, uint64_t i)
{
    Elf64_Shdr section;
    memcpy(&section, v->data + header->e_shoff + i * sizeof section, sizeof section);
    return section;
}

static bool scan_symbols(const view *v, const Elf64_Shdr *table, const Elf64_Shdr *names,
                         kf_scan_found *found)
{
    uint64_t count = table->sh_size / sizeof(Elf64_Sym);
    if (!inside(v, table->sh_offset, table->sh_size) || count > MAX_ENTRIES) return true;
    for (uint64_t i = 0; i < count; i++) {
        Elf64_Sym symbol;
        size_t size;
        memcpy(&symbol, v->data + table->sh_offset + i * sizeof symbol, sizeof symbol);
        const char *name = string_at(v, names, symbol.st_name, &size);
        if (!name || !size) continue;
        size_t plain = strcspn(name, "@");
        const kf_scan_rule *rule = kf_scan_name(name, plain < size ? plain : size);
        if (!rule) continue;
        bool imported = symbol.st_shndx == SHN_UNDEF;
        if (!kf_scan_add(found, imported ? rule->rule : "symbol.defined",
                         imported ? rule->text : "defines a function of the system", name, size, 0))
            return false;
    }
    return true;
}

static bool scan_libraries(const view *v, const Elf64_Shdr *dynamic, const Elf64_Shdr *names,
                           kf_scan_found *found)
{
    uint64_t count = dynamic->sh_size / sizeof(Elf64_Dyn);
    if (!inside(v, dynamic->sh_offset, dynamic->sh_size) || count > MAX_ENTRIES) return true;
    for (uint64_t i = 0; i < count; i++) {
        Elf64_Dyn entry;
        size_t size;
        memcpy(&entry, v->data + dynamic->sh_offset + i * sizeof entry, sizeof entry);
        if (entry.d_tag == DT_NULL) break;
        if (entry.d_tag != DT_NEEDED && entry.d_tag != DT_RPATH && entry.d_tag != DT_RUNPATH)
            continue;
        const char *name = string_at(v, names, entry.d_un.d_val, &size);
        bool needed = entry.d_tag == DT_NEEDED;
        if (name && !kf_scan_add(found, needed ? "library.needed" : "library.path",
                                 needed ? "is linked to" : "looks for libraries in", name, size, 0))
            return false;
    }
    return true;
}

/* Finds programs in data, for example a cubin for loading at run time. Programs in .nv_fatbin are
 * nvcc's. */
static bool scan_data(const view *v, const Elf64_Shdr *section, const char *name, size_t name_size,
                      kf_scan_found *found)
{
    const unsigned char *at = v->data + section->sh_offset, *end = at + section->sh_size;
    while ((at = memmem(at, (size_t)(end - at), ELFMAG, SELFMAG))) {
        if (!kf_scan_add(found, "code.embedded", "holds a program in its data", name, name_size, 0))
            return false;
        at += SELFMAG;
    }
    return true;
}

static bool scan_section(const view *v, const Elf64_Ehdr *header, const Elf64_Shdr *section,
                         const char *name, size_t size, kf_scan_found *found)
{
    bool linked = section->sh_link < header->e_shnum;
    Elf64_Shdr names = linked ? section_at(v, header, section->sh_link) : (Elf64_Shdr){0};
    if (section->sh_type == SHT_DYNSYM && linked && section->sh_entsize == sizeof(Elf64_Sym))
        return scan_symbols(v, section, &names, found);
    if (section->sh_type == SHT_DYNAMIC && linked) return scan_libraries(v, section, &names, found);
    if ((section->sh_type == SHT_PREINIT_ARRAY ||
         (section->sh_type == SHT_INIT_ARRAY && section->sh_size > sizeof(void *))) &&
        !kf_scan_add(found, "start.constructor", "runs before the first call", name, size, 0))
        return false;
    if ((section->sh_flags & SHF_EXECINSTR) && (section->sh_flags & SHF_WRITE) &&
        !kf_scan_add(found, "code.writable", "has code that can be written", name, size, 0))
        return false;
    bool data = section->sh_type == SHT_PROGBITS && (section->sh_flags & SHF_ALLOC) &&
                !(section->sh_flags & SHF_EXECINSTR);
    bool fatbin = (size == 10 && memcmp(name, ".nv_fatbin", 10) == 0) ||
                  (size == 12 && memcmp(name, "__nv_relfatbin", 12) == 0);
    if (data && !fatbin && inside(v, section->sh_offset, section->sh_size))
        return scan_data(v, section, name, size, found);
    return true;
}

bool kf_scan_elf(const void *data, size_t size, kf_scan_report *report, void *context,
                 kf_error *error)
{
    view v = {data, size};
    Elf64_Ehdr header;
    if (size < sizeof header || memcmp(data, ELFMAG, SELFMAG) != 0)
        return kf_fail(error, KF_ERROR_INPUT, "not an ELF file");
    memcpy(&header, data, sizeof header);
    if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB)
        return kf_fail(error, KF_ERROR_INPUT, "not a 64-bit little-endian ELF file");
    if (header.e_shentsize != sizeof(Elf64_Shdr) || !header.e_shnum ||
        header.e_shstrndx >= header.e_shnum ||
        !inside(&v, header.e_shoff, (uint64_t)header.e_shnum * sizeof(Elf64_Shdr)))
        return kf_fail(error, KF_ERROR_INPUT, "the ELF section table lies outside the file");
    Elf64_Shdr names = section_at(&v, &header, header.e_shstrndx);
    kf_scan_found found = {0};
    bool good = true;
    for (uint64_t i = 0; i < header.e_shnum && good; i++) {
        Elf64_Shdr section = section_at(&v, &header, i);
        size_t length = 0;
        const char *name = string_at(&v, &names, section.sh_name, &length);
        good = scan_section(&v, &header, &section, name ? name : "?", name ? length : 1, &found);
    }
    kf_scan_finish(&found, good ? report : NULL, context);
    return good || kf_fail_memory(error, "the flags of a scan");
}
