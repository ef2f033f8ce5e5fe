#include "kforge/sanitize_report.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MARK "========="
#define LINE_BYTES 1024

/* Copies text and replaces characters that are not printable. */
static void copy_clean(char *to, size_t size, const char *from, size_t length)
{
    size_t used = 0;
    for (size_t i = 0; i < length && used + 1 < size; i++)
        to[used++] = isprint((unsigned char)from[i]) ? from[i] : ' ';
    to[used] = '\0';
}

static bool starts(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* True for errors of the tool itself. */
static bool is_trouble(const char *headline)
{
    static const char *const words[] = {
        "Error: Target application",       "Error: process didn't",
        "Internal Sanitizer Error",        "Error: Device not supported",
        "Error: No attachable process",    "Error: Failed to",
        "Error: The application returned", "Device not supported"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (starts(headline, words[i])) return true;
    return false;
}

/* True for other lines that are not findings. */
static bool is_notice(const char *headline)
{
    static const char *const words[] = {
        "COMPUTE-SANITIZER",    "Target application returned an error",
        "Saved host backtrace", "Host Frame",
        "No CUDA-capable",      "Leaked"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (starts(headline, words[i])) return true;
    return strstr(headline, " SUMMARY:") != NULL;
}

/* Reads "at k(float *, int)+0x90 in oob.cu:2": kernel, file and line, as far as present. */
static void read_place(const char *text, kf_sanitize_finding *f)
{
    size_t length = strcspn(text, "\n");
    const char *in = NULL;
    /* finds the last " in ", because names may contain spaces */
    for (size_t i = 0; i + 4 < length; i++)
        if (strncmp(text + i, " in ", 4) == 0) in = text + i;
    size_t name = in ? (size_t)(in - text) : length;
    for (size_t i = 0; i < name; i++)
        if (text[i] == '+' && starts(text + i, "+0x")) name = i;
    if (!f->kernel[0]) copy_clean(f->kernel, sizeof f->kernel, text, name);
    if (!in || f->line) return;
    const char *file = in + 4, *end = text + length, *colon = NULL;
    for (const char *c = file; c < end; c++) {
        if (*c == '/') file = c + 1;
        if (*c == ':') colon = c;
    }
    if (!colon || colon < file) return;
    copy_clean(f->file, sizeof f->file, file, (size_t)(colon - file));
    long line = strtol(colon + 1, NULL, 10);
    f->line = line > 0 && line < 100000000 ? (int)line : 0;
}

static void add_detail(kf_sanitize_finding *f, const char *text)
{
    size_t used = strlen(f->detail);
    if (starts(text, "Host Frame") || starts(text, "Saved host") || used + 8 > sizeof f->detail)
        return;
    if (used) used += (size_t)snprintf(f->detail + used, sizeof f->detail - used, "; ");
    copy_clean(f->detail + used, sizeof f->detail - used, text, strlen(text));
}

/* Counts the finding with an equal one, or adds it. Only kind and place must be equal, because
 * addresses and threads differ. */
static void keep(kf_sanitize_report *report, const kf_sanitize_finding *found)
{
    if (!found->kind[0]) return;
    for (size_t i = 0; i < report->count; i++) {
        kf_sanitize_finding *f = &report->findings[i];
        if (strcmp(f->kind, found->kind) != 0 || f->line != found->line ||
            strcmp(f->kernel, found->kernel) != 0)
            continue;
        f->count++;
        return;
    }
    if (report->count == KF_SANITIZE_FINDINGS) return;
    report->findings[report->count] = *found;
    report->findings[report->count++].count = 1;
}

/* Reads a headline. A race has its place there: "Error: Race reported between Write access at k(int
 * *)+0x130 in c.cu:10". */
static void read_headline(const char *text, kf_sanitize_finding *f)
{
    const char *end = text + strlen(text), *at = strstr(text, " at ");
    f->warning = starts(text, "Warning:") || starts(text, "WARNING");
    if (starts(text, "Error: ")) text += 7;
    if (starts(text, "Warning: ")) text += 9;
    bool race = starts(text, "Race reported");
    if (race && at) {
        read_place(at + 4, f);
        end = at;
    }
    copy_clean(f->kind, sizeof f->kind, text, (size_t)(end - text));
}

void kf_sanitize_parse(const char *text, kf_sanitize_report *report)
{
    kf_sanitize_finding open = {.kind = ""};
    *report = (kf_sanitize_report){0};
    for (const char *at = text; *at; at += *at == '\n') {
        char line[LINE_BYTES];
        size_t length = strcspn(at, "\n");
        snprintf(line, sizeof line, "%.*s",
                 (int)(length < sizeof line - 1 ? length : sizeof line - 1), at);
        at += length;
        if (!starts(line, MARK)) continue;
        const char *rest = line + strlen(MARK);
        size_t indent = strspn(rest, " ");
        rest += indent;
        if (strstr(rest, "ERROR SUMMARY:") || strstr(rest, "RACECHECK SUMMARY:"))
            report->finished = true;
        if (!*rest || (indent <= 1 && is_notice(rest))) {
            keep(report, &open);
            open = (kf_sanitize_finding){.kind = ""};
        } else if (indent <= 1 && is_trouble(rest)) {
            copy_clean(report->trouble, sizeof report->trouble, rest, strlen(rest));
        } else if (indent <= 1) {
            keep(report, &open);
            open = (kf_sanitize_finding){.kind = ""};
            read_headline(rest, &open);
        } else if (open.kind[0] && starts(rest, "at ")) {
            read_place(rest + 3, &open);
        } else if (open.kind[0]) {
            add_detail(&open, rest);
        }
    }
    keep(report, &open);
}
