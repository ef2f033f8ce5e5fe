/* Finds matrix instructions in a listing of `cuobjdump -sass`. Since Volta, HMMA.16816.F16 adds in
 * f16 and HMMA.16816.F32 in f32. The type of the operands follows (.BF16, .TF32, nothing for f16).
 * HGMMA is Hopper's instruction, QGMMA and QMMA are for 8-bit floats. */
#include <string.h>

#include "scan_internal.h"

static bool has(const char *text, size_t size, const char *part)
{
    return memmem(text, size, part, strlen(part)) != NULL;
}

/* Returns the rule for an instruction, NULL for ordinary ones. */
static const char *rule_of(const char *name, size_t size, const char **text)
{
    bool matrix =
        (size > 5 && memcmp(name, "HMMA.", 5) == 0) || (size > 6 && memcmp(name, "HGMMA.", 6) == 0);
    bool eight =
        (size > 6 && memcmp(name, "QGMMA.", 6) == 0) || (size > 5 && memcmp(name, "QMMA.", 5) == 0);
    if (eight) {
        *text = "multiplies 8-bit floats";
        return "sass.f8";
    }
    if (size > 5 && memcmp(name, "HFMA2", 5) == 0) {
        *text = "adds and multiplies in f16 or bf16";
        return "sass.f16_arithmetic";
    }
    if (!matrix) return NULL;
    if (!has(name, size, ".F32")) {
        *text = "adds up in f16";
        return "sass.f16_accumulate";
    }
    if (has(name, size, ".TF32")) {
        *text = "multiplies in tf32";
        return "sass.tf32";
    }
    *text =
        has(name, size, ".BF16") ? "multiplies bf16, adds in f32" : "multiplies f16, adds in f32";
    return has(name, size, ".BF16") ? "sass.bf16" : "sass.f16";
}

bool kf_scan_sass(const char *text, size_t size, kf_scan_report *report, void *context,
                  kf_error *error)
{
    kf_scan_found found = {0};
    bool good = true;
    size_t at = 0;
    while (at < size && good) {
        while (at < size && !((text[at] >= 'A' && text[at] <= 'Z'))) at++;
        size_t start = at;
        while (at < size &&
               ((text[at] >= 'A' && text[at] <= 'Z') || (text[at] >= '0' && text[at] <= '9') ||
                text[at] == '.' || text[at] == '_' || text[at] == 'x'))
            at++;
        const char *words = NULL, *rule = rule_of(text + start, at - start, &words);
        if (rule) good = kf_scan_add(&found, rule, words, text + start, at - start, 0);
    }
    kf_scan_finish(&found, good ? report : NULL, context);
    return good || kf_fail_memory(error, "the flags of a scan");
}
