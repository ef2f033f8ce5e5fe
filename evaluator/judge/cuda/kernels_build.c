#include "kernels_build.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kforge/buffer.h"
#include "kforge/cleanup.h"
#include "kforge/file.h"
#include "kforge/hash.h"
#include "kforge/inputs.h"

#define MAX_FILES 16
#define IMAGE_BYTES (16u << 20)

/* Replaces the C library's headers, as far as the kernels use them. NVRTC has the mathematics built
 * in. */
static const char stdint_text[] =
    "typedef signed char int8_t;\ntypedef unsigned char uint8_t;\ntypedef short int16_t;\n"
    "typedef unsigned short uint16_t;\ntypedef int int32_t;\ntypedef unsigned int uint32_t;\n"
    "typedef long long int64_t;\ntypedef unsigned long long uint64_t;\n"
    "#define INT8_MIN (-128)\n#define INT8_MAX 127\n#define UINT8_MAX 255\n#define INT16_MIN "
    "(-32768)\n"
    "#define INT16_MAX 32767\n#define INT32_MIN (-2147483647 - 1)\n#define INT32_MAX 2147483647\n"
    "#define INT64_MAX 9223372036854775807ll\n#define INT64_MIN (-INT64_MAX - 1)\n";

/* The enumerators that the kernels share with C, with their values here, so that they cannot
 * differ. */
static void write_constants(kf_buffer *text)
{
#define ROW(name)          \
    {                      \
#name, (int)(name) \
    }
    static const struct {
        const char *name;
        int value;
    } rows[] = {
        ROW(KF_F64),
        ROW(KF_F32),
        ROW(KF_TF32),
        ROW(KF_F16),
        ROW(KF_BF16),
        ROW(KF_F8E4M3),
        ROW(KF_F8E5M2),
        ROW(KF_I64),
        ROW(KF_I32),
        ROW(KF_I16),
        ROW(KF_I8),
        ROW(KF_U8),
        ROW(KF_BOOL),
        ROW(KF_NORMAL),
        ROW(KF_UNIFORM),
        ROW(KF_INTEGERS),
        ROW(KF_PERMUTATION),
        ROW(KF_SORTED),
        ROW(KF_OFFSETS),
        ROW(KF_SPARSE),
        ROW(KF_CONSTANT),
        ROW(KF_ONE_HOT),
        ROW(KF_POSITIVE_DEFINITE),
        ROW(KF_SYMMETRIC),
        ROW(KF_UPPER_TRIANGULAR),
        ROW(KF_LOWER_TRIANGULAR),
        ROW(KF_SIGNS),
        ROW(KF_VARY_NONE),
        ROW(KF_VARY_SCALE_UP),
        ROW(KF_VARY_SCALE_DOWN),
        ROW(KF_VARY_OFFSET),
        ROW(KF_VARY_CANCELLATION),
        ROW(KF_VARY_OUTLIER),
        ROW(KF_VARY_STRAY),
        ROW(KF_VARY_EQUAL),
        ROW(KF_VARY_CLUSTERS),
        ROW(KF_VARY_NONFINITE),
    };
    kf_buffer_string(text, "enum {\n");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        kf_buffer_format(text, "%s = %d,\n", rows[i].name, rows[i].value);
    kf_buffer_string(text, "};\n");
}

static char *cached_path(const char *cache, const kf_source_file *files, size_t count, int major,
                         int minor)
{
    const char *parts[MAX_FILES + 1];
    size_t sizes[MAX_FILES + 1];
    char hex[KF_HASH_HEX], *path = NULL, about[96];
    snprintf(about, sizeof about, "sm_%d%d nvrtc %s", major, minor, kf_nvrtc_version());
    parts[0] = about;
    sizes[0] = strlen(about);
    for (size_t i = 0; i < count; i++) parts[i + 1] = files[i].text, sizes[i + 1] = files[i].size;
    kf_hash_parts_hex(hex, parts, sizes, count + 1);
    return asprintf(&path, "%s/kernels/%s.cubin", cache, hex) < 0 ? NULL : path;
}

char *kf_kernels_image(const char *cache, int major, int minor, size_t *size, kf_error *error)
{
    kf_autobuffer head = {0};
    kf_source_file files[MAX_FILES] = {{0}};
    size_t count = 0;
    for (; kf_kernel_files[count].name; count++) files[count] = kf_kernel_files[count];
    kf_buffer_string(&head, "#include \"stdint.h\"\n");
    write_constants(&head);
    kf_buffer_string(&head, kf_kernel_files[0].text);
    if (head.failed || count + 3 > MAX_FILES) {
        kf_fail_memory(error, "the judge's kernels");
        return NULL;
    }
    files[0].text = head.data;
    files[0].size = head.size;
    files[count++] = (kf_source_file){"stdint.h", stdint_text, sizeof stdint_text - 1};
    files[count++] = (kf_source_file){"math.h", "", 0};
    files[count++] = (kf_source_file){"string.h", "", 0};

    kf_autofree char *path = cache ? cached_path(cache, files, count, major, minor) : NULL;
    if (path && access(path, R_OK) == 0) {
        char *image = kf_file_read(path, IMAGE_BYTES, size, NULL);
        if (image) return image;
    }
    static const char *const options[] = {"--std=c++17", "--fmad=false"};
    char *image = kf_nvrtc_compile(files, count, major, minor, options,
                                   sizeof options / sizeof *options, size, error);
    kf_autofree char *folder = cache ? kf_path_join(cache, "kernels") : NULL;
    if (image && path && folder && kf_directory_make(folder, NULL))
        kf_file_write(path, image, *size, NULL);
    return image;
}
