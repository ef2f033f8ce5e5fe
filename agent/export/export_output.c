#include "export_output.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>
#include <zstd.h>

#include "export_parquet.h"
#include "export_atomic_output.h"
#include "kforge/buffer.h"
#include "kforge/file.h"
#include "kforge/list.h"

#define CHUNK (1u << 18)

/* A file that is being written, through a compressor or the Parquet writer. */
typedef struct stream {
    bool open;
    /* NULL if the Parquet writer has it */
    FILE *file;
    bool borrowed; /* standard output */
    ZSTD_CCtx *zstd;
    z_stream gzip;
    bool gzip_open;
    /* for all files of a split, because its start takes longer than a small file */
    kf_parquet *parquet;
    /* rows that are not written yet */
    kf_buffer pending;
    int64_t rows;
    int shard;
} stream;

enum { TRAIN, TEST, SPLITS };

struct kf_output {
    kf_output_settings settings;
    kf_atomic_output *output; /* NULL for standard output */
    /* final and temporary name; for a folder, its own */
    const char *path, *part, *folder;
    stream streams[SPLITS];
    kf_output_file *files;
    size_t count;
    unsigned char *packed; /* CHUNK bytes */
};

static const char *const split_names[SPLITS] = {"train", "test"};

static const struct {
    const char *suffix, *short_suffix;
} packings[] = {
    [KF_PACK_NONE] = {".jsonl", ".json"},
    [KF_PACK_GZIP] = {".jsonl.gz", ".json.gz"},
    [KF_PACK_ZSTD] = {".jsonl.zst", ".json.zst"},
    [KF_PACK_PARQUET] = {".parquet", ".parquet"},
};

const char *kf_packing_suffix(kf_packing packing)
{
    return packings[packing].suffix;
}

static bool ends_in(const char *text, const char *end)
{
    size_t size = strlen(text), length = strlen(end);
    return size > length && strcmp(text + size - length, end) == 0;
}

bool kf_packing_of_name(const char *name, kf_packing *packing)
{
    for (size_t i = 0; i < sizeof packings / sizeof *packings; i++)
        if (ends_in(name, packings[i].suffix) || ends_in(name, packings[i].short_suffix))
            return *packing = (kf_packing)i, true;
    return false;
}

static bool cannot_write(const kf_output *o, kf_error *error)
{
    int code = errno;
    const char *path = o->path ? o->path : "standard output";
    if (code == ENOSPC || code == EDQUOT || code == EFBIG)
        return kf_fail(error, KF_ERROR_IO,
                       "%s: the disk is full and the partial file was removed; free some space, or "
                       "add .zst to the name",
                       path);
    if (code == EPIPE)
        return kf_fail(error, KF_ERROR_IO, "%s: the reader of the output has ended", path);
    return kf_fail(error, KF_ERROR_IO, "%s: writing: %s", path, strerror(code));
}

/* ---- streams --------------------------------------------------------------------------------- */

static bool open_stream(kf_output *o, stream *s, const char *path, kf_error *error)
{
    s->rows = 0;
    s->open = true;
    if (!path) {
        s->file = o->settings.standard;
        s->borrowed = true;
    } else if (o->settings.packing == KF_PACK_PARQUET) {
        return (s->parquet || (s->parquet = kf_parquet_open(o->settings.fields, error))) &&
               kf_parquet_begin(s->parquet, path, o->path, error);
    } else if (!(s->file = fopen(path, "wbe"))) {
        return cannot_write(o, error);
    }
    if (o->settings.packing == KF_PACK_ZSTD && !s->zstd && !(s->zstd = ZSTD_createCCtx()))
        return kf_fail_memory(error, "the output");
    if (o->settings.packing == KF_PACK_ZSTD) {
        ZSTD_CCtx_reset(s->zstd, ZSTD_reset_session_only);
        ZSTD_CCtx_setParameter(s->zstd, ZSTD_c_checksumFlag, 1);
    }
    if (o->settings.packing == KF_PACK_GZIP) {
        s->gzip = (z_stream){0};
        if (deflateInit2(&s->gzip, 4, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
            return kf_fail_memory(error, "the output");
        s->gzip_open = true;
    }
    return true;
}

static bool put(kf_output *o, stream *s, const void *data, size_t size, kf_error *error)
{
    if (!size) return true;
    errno = 0;
    return fwrite(data, 1, size, s->file) == size || cannot_write(o, error);
}

static bool put_zstd(kf_output *o, stream *s, bool end, kf_error *error)
{
    ZSTD_inBuffer in = {s->pending.data, s->pending.size, 0};
    size_t left;
    do {
        ZSTD_outBuffer out = {o->packed, CHUNK, 0};
        left = ZSTD_compressStream2(s->zstd, &out, &in, end ? ZSTD_e_end : ZSTD_e_continue);
        if (ZSTD_isError(left))
            return kf_fail(error, KF_ERROR_MEMORY, "%s: compressing: %s", o->path,
                           ZSTD_getErrorName(left));
        if (!put(o, s, o->packed, out.pos, error)) return false;
    } while (end ? left != 0 : in.pos < in.size);
    return true;
}

static bool put_gzip(kf_output *o, stream *s, bool end, kf_error *error)
{
    s->gzip.next_in = (unsigned char *)s->pending.data;
    s->gzip.avail_in = (unsigned)s->pending.size;
    do {
        s->gzip.next_out = o->packed;
        s->gzip.avail_out = CHUNK;
        deflate(&s->gzip, end ? Z_FINISH : Z_NO_FLUSH);
        if (!put(o, s, o->packed, CHUNK - s->gzip.avail_out, error)) return false;
    } while (!s->gzip.avail_out);
    return true;
}

static bool hand_on(kf_output *o, stream *s, bool end, kf_error *error)
{
    if (s->pending.failed) return kf_fail_memory(error, "the output");
    bool ok;
    switch (o->settings.packing) {
    case KF_PACK_ZSTD: ok = put_zstd(o, s, end, error); break;
    case KF_PACK_GZIP: ok = put_gzip(o, s, end, error); break;
    case KF_PACK_PARQUET:
        ok = kf_parquet_rows(s->parquet, s->pending.data, s->pending.size, error) &&
             (!end || kf_parquet_end(s->parquet, error));
        break;
    default: ok = put(o, s, s->pending.data, s->pending.size, error);
    }
    kf_buffer_clear(&s->pending);
    return ok;
}

/* Reads size and, for the card, hash of a finished file, which is still in the page cache. */
static bool describe(kf_output *o, const char *path, kf_output_file *file, kf_error *error)
{
    kf_autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat status;
    if (fd < 0 || fstat(fd, &status) != 0 || fsync(fd) != 0) return cannot_write(o, error);
    file->bytes = status.st_size;
    if (!o->settings.folder) return true;
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    kf_hash hash = {0};
    ssize_t size = -1;
    bool ok = context && EVP_DigestInit_ex(context, EVP_sha256(), NULL) == 1;
    while (ok && (size = read(fd, o->packed, CHUNK)) > 0)
        ok = EVP_DigestUpdate(context, o->packed, (size_t)size) == 1;
    ok = ok && size == 0 && EVP_DigestFinal_ex(context, hash.bytes, NULL) == 1;
    EVP_MD_CTX_free(context);
    if (!ok) return size < 0 ? cannot_write(o, error) : kf_fail_memory(error, "the output");
    kf_hash_hex(&hash, file->hash);
    return true;
}

static char *shard_name(const kf_output *o, int split, int shard)
{
    char *name;
    return asprintf(&name, "%s-%05d%s", split_names[split], shard,
                    kf_packing_suffix(o->settings.packing)) < 0
               ? NULL
               : name;
}

static bool end_stream(kf_output *o, int split, kf_error *error)
{
    stream *s = &o->streams[split];
    if (!s->open) return true;
    bool ok = hand_on(o, s, true, error);
    errno = 0;
    if (s->file && (s->borrowed ? fflush(s->file) != 0 : fclose(s->file) != 0))
        ok = ok && cannot_write(o, error);
    s->file = NULL;
    s->open = false;
    if (s->gzip_open) deflateEnd(&s->gzip);
    s->gzip_open = false;
    if (!ok || s->borrowed) return ok;
    if (!kf_list_grow(&o->files, o->count)) return kf_fail_memory(error, "the output");
    kf_output_file *file = &o->files[o->count];
    *file = (kf_output_file){.rows = s->rows};
    snprintf(file->split, sizeof file->split, "%s", split_names[split]);
    kf_autofree char *name = o->settings.folder ? shard_name(o, split, s->shard) : strdup(o->part);
    kf_autofree char *path = name ? kf_path_join(o->settings.folder ? o->folder : "", name) : NULL;
    if (!path) return kf_fail_memory(error, "the output");
    file->name = kf_steal(&name);
    o->count++;
    return describe(o, o->settings.folder ? path : o->part, file, error);
}

static bool begin_shard(kf_output *o, int split, kf_error *error)
{
    stream *s = &o->streams[split];
    if (!o->settings.folder) return open_stream(o, s, o->part, error);
    kf_autofree char *name = shard_name(o, split, s->shard);
    kf_autofree char *path = name ? kf_path_join(o->folder, name) : NULL;
    return path ? open_stream(o, s, path, error) : kf_fail_memory(error, "the output");
}

bool kf_output_row(void *context, const char *split, const char *row, size_t size, kf_error *error)
{
    kf_output *o = context;
    /* a single file has no splits */
    int which = o->settings.folder && strcmp(split, "test") == 0 ? TEST : TRAIN;
    stream *s = &o->streams[which];
    if (s->open && o->settings.folder && o->settings.shard_rows &&
        s->rows >= o->settings.shard_rows) {
        if (!end_stream(o, which, error)) return false;
        s->shard++;
    }
    if (!s->open && !begin_shard(o, which, error)) return false;
    bool first = s->rows == 0;
    kf_buffer_append(&s->pending, row, size);
    kf_buffer_append(&s->pending, "\n", 1);
    s->rows++;
    if (s->pending.size < CHUNK && !(first && s->borrowed)) return true;
    if (!hand_on(o, s, false, error)) return false;
    return !(first && s->borrowed) || fflush(s->file) == 0 || cannot_write(o, error);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static bool open_place(kf_output *o, kf_error *error)
{
    o->output =
        kf_atomic_output_open(o->settings.path, o->settings.folder, o->settings.force, error);
    if (!o->output) return false;
    o->path = kf_atomic_output_path(o->output);
    o->part = kf_atomic_output_part(o->output);
    if (o->settings.folder) o->folder = o->part;
    return true;
}

kf_output *kf_output_open(const kf_output_settings *settings, kf_error *error)
{
    kf_auto(kf_output) o = calloc(1, sizeof *o);
    if (!o || !(o->packed = malloc(CHUNK))) return kf_fail_memory(error, "the output"), NULL;
    o->settings = *settings;
    if (settings->packing == KF_PACK_PARQUET &&
        !(o->streams[TRAIN].parquet = kf_parquet_open(settings->fields, error)))
        return NULL;
    bool standard = strcmp(settings->path, "-") == 0;
    if (!standard && !open_place(o, error)) return NULL;
    /* Writes a file also without rows, for example the first shard of the training split. */
    return begin_shard(o, TRAIN, error) ? kf_steal(&o) : NULL;
}

bool kf_output_finish(kf_output *o, const kf_output_file **files, size_t *count, kf_error *error)
{
    for (int i = 0; i < SPLITS; i++)
        if (!end_stream(o, i, error)) return false;
    if (files) *files = o->files;
    if (count) *count = o->count;
    return true;
}

bool kf_output_add(kf_output *o, const char *name, const void *data, size_t size, kf_error *error)
{
    return kf_atomic_output_write(o->output, name, data, size, error);
}

bool kf_output_commit(kf_output *o, kf_error *error)
{
    return !o->output || kf_atomic_output_commit(o->output, error);
}

void kf_output_close(kf_output *o)
{
    if (!o) return;
    for (int i = 0; i < SPLITS; i++) {
        stream *s = &o->streams[i];
        kf_parquet_close(s->parquet);
        if (s->file && !s->borrowed) fclose(s->file);
        if (s->gzip_open) deflateEnd(&s->gzip);
        ZSTD_freeCCtx(s->zstd);
        kf_buffer_free(&s->pending);
    }
    kf_atomic_output_close(o->output);
    for (size_t i = 0; i < o->count; i++) free(o->files[i].name);
    free(o->files);
    free(o->packed);
    free(o);
}
