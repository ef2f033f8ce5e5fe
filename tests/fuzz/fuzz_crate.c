/* What leaves a jail that a stranger's code ran in: each record lies in it, and the walk ends. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "crate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *crate = (const char *)data;
    kf_crate_record record;
    for (size_t at = 0, before = 0; kf_crate_next(crate, size, &at, &record); before = at) {
        if (at <= before || at > size || record.data < crate || record.size > (size_t)(crate + size - record.data)) abort();
        if (record.kind == KF_CRATE_LIBRARY && (!record.name[0] || strpbrk(record.name, "/."))) abort();
    }
    return 0;
}
