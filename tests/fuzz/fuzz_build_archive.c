/* Reads the archive that leaves a build jail with untrusted code: each record lies inside it, and
 * the walk ends. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "build_archive.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *archive = (const char *)data;
    kf_build_archive_record record;
    for (size_t at = 0, before = 0; kf_build_archive_next(archive, size, &at, &record);
         before = at) {
        if (at <= before || at > size || record.data < archive ||
            record.size > (size_t)(archive + size - record.data))
            abort();
        if (record.kind == KF_BUILD_ARCHIVE_LIBRARY &&
            (!record.name[0] || strpbrk(record.name, "/.")))
            abort();
    }
    return 0;
}
