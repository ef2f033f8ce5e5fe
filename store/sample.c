/* Raw timings of a verdict, one row a workload, as columns: equal things next to each other compress to a third of what rows do. */
#include "internal.h"

#include <string.h>

/* Puts `size` bytes of field `offset` of every sample behind each other. All supported machines are little-endian. */
static char *gather(char *to, const kf_sample *samples, size_t count, size_t offset, size_t size)
{
    for (size_t i = 0; i < count; i++, to += size) memcpy(to, (const char *)&samples[i] + offset, size);
    return to;
}

static const char *scatter(const char *from, kf_sample *samples, size_t count, size_t offset, size_t size)
{
    for (size_t i = 0; i < count; i++, from += size) memcpy((char *)&samples[i] + offset, from, size);
    return from;
}

static const struct {
    size_t offset, size;
} fields[] = {
#define FIELD(name)                                             \
    {                                                           \
        offsetof(kf_sample, name), sizeof((kf_sample *)0)->name \
    }
    FIELD(side), FIELD(pair), FIELD(calls), FIELD(seconds), FIELD(claimed), FIELD(clock_mhz), FIELD(throttle),
};
#define FIELDS (sizeof fields / sizeof *fields)

bool kf_samples_put(kf_store *store, int64_t verdict, int ordinal, const kf_workload_verdict *workload, kf_error *error)
{
    size_t count = workload->sample_count;
    if (!count) return true;
    if (count > KF_STORE_BLOB_BYTES / KF_SAMPLE_BYTES)
        return kf_fail(error, KF_ERROR_LIMIT, "%s: workload %s has %zu samples, too many to store", store->path, workload->workload,
                       count);
    kf_autofree char *columns = malloc(count * KF_SAMPLE_BYTES);
    if (!columns) return kf_fail(error, KF_ERROR_MEMORY, "%s: out of memory for samples", store->path);
    char *end = columns;
    for (size_t i = 0; i < FIELDS; i++) end = gather(end, workload->samples, count, fields[i].offset, fields[i].size);
    kf_autopacked packed = {0};
    return kf_pack(store, columns, (size_t)(end - columns), &packed, error) &&
           kf_sql_do(store, error,
                     "INSERT INTO sample (verdict, ordinal, workload, count, size, codec, data) VALUES (?, ?, ?, ?, ?, ?, ?)",
                     "intiinb", verdict, ordinal, workload->workload ? workload->workload : "", (int64_t)count, packed.size,
                     packed.codec, packed.data, packed.data_size);
}

bool kf_store_samples(kf_store *store, int64_t verdict, const char *workload, kf_sample **samples, size_t *count, kf_error *error)
{
    *samples = NULL;
    *count = 0;
    kf_autoreset *statement = kf_sql(
        store, error, "SELECT count, size, codec, data FROM sample WHERE verdict = ? AND workload = ? ORDER BY ordinal LIMIT 1",
        "it", verdict, workload);
    int row = statement ? kf_sql_step(store, statement, error) : -1;
    if (row != 1) return row == 0;
    size_t number = (size_t)sqlite3_column_int64(statement, 0), size = 0;
    kf_autofree char *columns = kf_unpack(store, statement, 1, &size, error);
    if (!columns) return false;
    if (!number || size / KF_SAMPLE_BYTES != number || size % KF_SAMPLE_BYTES)
        return kf_fail(error, KF_ERROR_IO, "%s: stored samples are damaged: restore a copy of the store", store->path);
    kf_autofree kf_sample *result = calloc(number, sizeof *result);
    if (!result) return kf_fail(error, KF_ERROR_MEMORY, "%s: out of memory for samples", store->path);
    const char *at = columns;
    for (size_t i = 0; i < FIELDS; i++) at = scatter(at, result, number, fields[i].offset, fields[i].size);
    *samples = kf_steal(&result);
    *count = number;
    return true;
}
