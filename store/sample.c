/* Raw timings of a verdict: one row for all its workloads. A directory comes first, then the
 * samples as columns, since equal values next to each other compress best. With n samples in all:
 *
 *     u32 workloads; for each: u32 samples, u32 length of the name, the name
 *     side u8[n], pair i32[n], calls i32[n], seconds f64[n], claimed f64[n], clock_mhz f64[n],
 *     throttle u64[n]
 *
 * Numbers are little-endian, as all supported machines are. */
#include "internal.h"

#include <string.h>

#include "kforge/buffer.h"

static const struct {
    size_t offset, size;
} fields[] = {
#define FIELD(name)                                             \
    {                                                           \
        offsetof(kf_sample, name), sizeof((kf_sample *)0)->name \
    }
    FIELD(side),    FIELD(pair),      FIELD(calls),    FIELD(seconds),
    FIELD(claimed), FIELD(clock_mhz), FIELD(throttle),
};
#define FIELDS (sizeof fields / sizeof *fields)
/* the sum of their sizes */
#define SAMPLE_BYTES 41

static void append_number(kf_buffer *buffer, uint32_t number)
{
    kf_buffer_append(buffer, &number, sizeof number);
}

static void append_directory(kf_buffer *buffer, const kf_verdict *verdict)
{
    append_number(buffer, (uint32_t)verdict->workload_count);
    for (size_t i = 0; i < verdict->workload_count; i++) {
        const char *name = verdict->workloads[i].workload ? verdict->workloads[i].workload : "";
        append_number(buffer, (uint32_t)verdict->workloads[i].sample_count);
        append_number(buffer, (uint32_t)strlen(name));
        kf_buffer_string(buffer, name);
    }
}

/* Writes one field of all samples to `to`. Fields have 1, 4 or 8 bytes, and the compiler turns a
 * copy of known size into a move. */
static void write_column(const kf_verdict *verdict, size_t offset, size_t size, char *to)
{
    for (size_t i = 0; i < verdict->workload_count; i++) {
        const kf_sample *samples = verdict->workloads[i].samples;
        for (size_t k = 0; k < verdict->workloads[i].sample_count; k++, to += size) {
            const char *from = (const char *)&samples[k] + offset;
            if (size == 8)
                memcpy(to, from, 8);
            else if (size == 4)
                memcpy(to, from, 4);
            else
                *to = *from;
        }
    }
}

bool kf_samples_put(kf_store *store, int64_t verdict_id, const kf_verdict *verdict, kf_error *error)
{
    size_t count = 0;
    for (size_t i = 0; i < verdict->workload_count; i++)
        count += verdict->workloads[i].sample_count;
    if (!count) return true;
    kf_autobuffer text = {.limit = KF_STORE_BLOB_BYTES};
    append_directory(&text, verdict);
    char *to = count <= KF_STORE_BLOB_BYTES / SAMPLE_BYTES
                   ? kf_buffer_reserve(&text, count * SAMPLE_BYTES)
                   : NULL;
    text.failed |= !to;
    for (size_t f = 0; f < FIELDS && to; to += count * fields[f++].size)
        write_column(verdict, fields[f].offset, fields[f].size, to);
    if (to) text.size += count * SAMPLE_BYTES;
    if (text.failed && count > KF_STORE_BLOB_BYTES / SAMPLE_BYTES)
        return kf_fail(error, KF_ERROR_LIMIT, "%s: a verdict has %zu samples, too many to store",
                       store->path, count);
    if (text.failed) return kf_fail_memory(error, "samples");
    kf_autopacked packed = {0};
    return kf_pack(store, KF_PACK_FAST, text.data, text.size, &packed, error) &&
           kf_sql_do(
               store, error,
               "INSERT INTO sample (verdict, count, size, codec, data) VALUES (?, ?, ?, ?, ?)",
               "iiinb", verdict_id, (int64_t)count, packed.size, packed.codec, packed.data,
               packed.data_size);
}

/* ---- reading --------------------------------------------------------------------------------- */

typedef struct reader {
    const char *at, *end;
} reader;

static bool read_number(reader *in, uint32_t *number)
{
    if ((size_t)(in->end - in->at) < sizeof *number) return false;
    memcpy(number, in->at, sizeof *number);
    in->at += sizeof *number;
    return true;
}

/* Finds the samples of `workload` among all of them, and leaves `in` at the first column. False if
 * the bytes are not a directory. */
static bool read_directory(reader *in, const char *workload, size_t *first, size_t *count,
                           size_t *all)
{
    uint32_t workloads, samples, length;
    *first = *count = *all = 0;
    if (!read_number(in, &workloads)) return false;
    bool found = false;
    for (uint32_t i = 0; i < workloads; i++) {
        if (!read_number(in, &samples) || !read_number(in, &length) ||
            (size_t)(in->end - in->at) < length)
            return false;
        if (!found && strlen(workload) == length && !memcmp(in->at, workload, length)) {
            found = true;
            *first = *all;
            *count = samples;
        }
        *all += samples;
        in->at += length;
    }
    size_t left = (size_t)(in->end - in->at);
    return left % SAMPLE_BYTES == 0 && left / SAMPLE_BYTES == *all;
}

bool kf_store_samples(kf_store *store, int64_t verdict, const char *workload, kf_sample **samples,
                      size_t *count, kf_error *error)
{
    *samples = NULL;
    *count = 0;
    kf_autoreset *statement = kf_sql(
        store, error, "SELECT size, codec, data FROM sample WHERE verdict = ?", "i", verdict);
    int row = statement ? kf_sql_step(store, statement, error) : -1;
    if (row != 1) return row == 0;
    size_t size = 0, first, number, all;
    kf_autofree char *text = kf_unpack(store, statement, 0, &size, error);
    if (!text) return false;
    reader in = {text, text + size};
    if (!read_directory(&in, workload, &first, &number, &all))
        return kf_fail(error, KF_ERROR_IO,
                       "%s: stored samples are damaged: restore a copy of the store", store->path);
    if (!number) return true;
    kf_autofree kf_sample *result = calloc(number, sizeof *result);
    if (!result) return kf_fail_memory(error, "samples");
    for (size_t f = 0; f < FIELDS; in.at += all * fields[f].size, f++)
        for (size_t k = 0; k < number; k++)
            memcpy((char *)&result[k] + fields[f].offset, in.at + (first + k) * fields[f].size,
                   fields[f].size);
    *samples = kf_steal(&result);
    *count = number;
    return true;
}
