#include "text_diff.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kforge/cleanup.h"
#include "kforge/file.h"
#include "kforge/run_capture.h"

#define DIFF_SECONDS 5
#define DIFF_BYTES (4u << 20)

/* Writes a file that lives for a moment only, so nothing waits for the disk. */
static bool write_side(const char *path, const char *text, kf_error *error)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    bool written = fd >= 0 && kf_write_all(fd, text, strlen(text));
    if (fd >= 0) written = close(fd) == 0 && written;
    return written || kf_fail(error, KF_ERROR_IO, "%s: %s", path, strerror(errno));
}

char *kf_text_diff(const kf_diff_side *before, const kf_diff_side *after, int context,
                   kf_error *error)
{
    if (strcmp(before->text, after->text) == 0) {
        char *nothing = strdup("");
        if (!nothing) kf_fail_memory(error, "a difference");
        return nothing;
    }
    char lines[16];
    snprintf(lines, sizeof lines, "-U%d", context);
    kf_autofree char *folder = kf_directory_temporary("kforge-diff", error);
    kf_autofree char *left = folder ? kf_path_join(folder, "before") : NULL;
    kf_autofree char *right = folder ? kf_path_join(folder, "after") : NULL;
    if (!folder) return NULL;
    bool written = left && right && write_side(left, before->text, error) &&
                   write_side(right, after->text, error);
    const char *const argv[] = {"diff",       "--text", lines, "--label", before->label, "--label",
                                after->label, "--",     left,  right,     NULL};
    char *text = written ? kf_run_capture(argv, NULL, DIFF_BYTES, DIFF_SECONDS) : NULL;
    if (written && !text)
        kf_fail(error, KF_ERROR_MACHINE,
                "the program diff is missing or took over %d s; install diffutils", DIFF_SECONDS);
    if (!left || !right) kf_fail_memory(error, "a difference");
    kf_directory_remove(folder, NULL);
    return text;
}
