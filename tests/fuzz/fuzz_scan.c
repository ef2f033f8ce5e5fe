/* Triage of whatever a candidate may be, hold or be compiled to: text, ELF and listings. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "kforge/scan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look(void *context, const kf_scan_flag *flag)
{
    (void)context;
    if (!flag->rule[0] || !flag->text[0] || flag->count < 1 || flag->line < -100000000) abort();
    if (strnlen(flag->word, sizeof flag->word) == sizeof flag->word) abort();
    for (const char *c = flag->word; *c; c++)
        if (*c < ' ' || *c > '~') abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    kf_error error = {0};
    kf_source_is_python((const char *)data, size);
    for (int python = 0; python < 2; python++)
        if (!kf_scan_source((const char *)data, size, python, look, NULL, &error) &&
            error.code == KF_ERROR_NONE)
            abort();
    if (!kf_scan_elf(data, size, look, NULL, &error) && error.code == KF_ERROR_NONE) abort();
    kf_scan_sass((const char *)data, size, look, NULL, &error);
    return 0;
}
