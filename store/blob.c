/* Texts as the store keeps them: one zstd frame with a checksum each (codec 3). Texts that may
 * repeat (sources, prompts, replies, bundles) are stored once in table `blob`, under their SHA-256,
 * which every read compares as well. */
#include "internal.h"

#include <string.h>

/* Bit of the fifth byte of a zstd frame: the frame ends with a checksum of its content (RFC 8878,
 * section 3.1.1.1.1). */
#define CHECKSUM_FLAG 4

/* Looking a text up costs less than compressing it in vain, unless it is as short as this. */
#define SMALL 4096

/* Returns the compressor, made at the first call; NULL without memory. */
static ZSTD_CCtx *compressor(kf_store *store)
{
    if (store->compressor || !(store->compressor = ZSTD_createCCtx())) return store->compressor;
    ZSTD_CCtx_setParameter(store->compressor, ZSTD_c_checksumFlag, 1);
    return store->compressor;
}

bool kf_pack(kf_store *store, int level, const void *data, size_t size, kf_packed *packed,
             kf_error *error)
{
    *packed = (kf_packed){.size = (int64_t)size, .codec = KF_CODEC};
    if (size > KF_STORE_BLOB_BYTES)
        return kf_fail(error, KF_ERROR_LIMIT, "%s: a text of %zu bytes is over the limit of %u",
                       store->path, size, KF_STORE_BLOB_BYTES);
    size_t bound = ZSTD_compressBound(size);
    kf_autofree char *frame = malloc(bound);
    if (!frame || !compressor(store)) return kf_fail_memory(error, "a text");
    ZSTD_CCtx_setParameter(store->compressor, ZSTD_c_compressionLevel, level);
    packed->data_size = ZSTD_compress2(store->compressor, frame, bound, data ? data : "", size);
    if (ZSTD_isError(packed->data_size))
        return kf_fail(error, KF_ERROR_MEMORY, "%s: compressing a text: %s", store->path,
                       ZSTD_getErrorName(packed->data_size));
    packed->data = packed->owned = kf_steal(&frame);
    return true;
}

static bool damaged(kf_store *store, kf_error *error)
{
    return kf_fail(
        error, KF_ERROR_IO,
        "%s: a stored text is damaged: restore a copy of the store; `kforge store check` "
        "names all damaged texts",
        store->path);
}

/* Unpacks a frame into exactly `size` bytes. False if it is damaged. */
static bool unpack_frame(kf_store *store, const unsigned char *frame, size_t frame_size, char *text,
                         size_t size)
{
    return frame_size > 4 && frame[4] & CHECKSUM_FLAG &&
           ZSTD_decompressDCtx(store->decompressor, text, size, frame, frame_size) == size;
}

char *kf_unpack_bytes(kf_store *store, const kf_packed *packed, size_t *size, kf_error *error)
{
    bool raw = packed->codec == KF_CODEC_RAW;
    if (packed->size < 0 || packed->size > KF_STORE_BLOB_BYTES ||
        (raw ? packed->data_size != (size_t)packed->size : packed->codec != KF_CODEC))
        return damaged(store, error), NULL;
    if (!store->decompressor && !(store->decompressor = ZSTD_createDCtx()))
        return kf_fail_memory(error, "a text"), NULL;
    size_t plain_size = (size_t)packed->size;
    kf_autofree char *text = malloc(plain_size + 1);
    if (!text) return kf_fail_memory(error, "a text"), NULL;
    if (raw && plain_size) memcpy(text, packed->data, plain_size);
    if (!raw && !unpack_frame(store, packed->data, packed->data_size, text, plain_size))
        return damaged(store, error), NULL;
    text[plain_size] = '\0';
    if (size) *size = plain_size;
    return kf_steal(&text);
}

bool kf_packed_read(kf_store *store, sqlite3_stmt *statement, int column, kf_packed *packed,
                    kf_error *error)
{
    *packed = (kf_packed){.size = sqlite3_column_int64(statement, column),
                          .codec = sqlite3_column_int(statement, column + 1),
                          .data = sqlite3_column_blob(statement, column + 2)};
    packed->data_size = (size_t)sqlite3_column_bytes(statement, column + 2);
    if (packed->data || sqlite3_errcode(store->db) != SQLITE_NOMEM) return true;
    return kf_fail_memory(error, "a text");
}

char *kf_unpack(kf_store *store, sqlite3_stmt *statement, int column, size_t *size, kf_error *error)
{
    kf_packed packed;
    return kf_packed_read(store, statement, column, &packed, error)
               ? kf_unpack_bytes(store, &packed, size, error)
               : NULL;
}

static int find(kf_store *store, const kf_hash *hash, int64_t *blob, kf_error *error)
{
    return kf_sql_integer(store, blob, error, "SELECT id FROM blob WHERE hash = ?", "b",
                          hash->bytes, (size_t)KF_HASH_SIZE);
}

int64_t kf_blob_put(kf_store *store, const void *data, size_t size, kf_error *error)
{
    if (!data) data = "";
    kf_hash hash = kf_hash_bytes(data, size);
    int64_t blob = 0;
    /* Most small texts are new. They are looked up only if they can't be inserted. */
    bool small = size <= SMALL;
    int row = small ? 0 : find(store, &hash, &blob, error);
    if (row) return row == 1 ? blob : 0;
    kf_autopacked packed = {0};
    if (!kf_pack(store, small ? KF_PACK_FAST : KF_PACK_TEXT, data, size, &packed, error) ||
        !kf_sql_do(
            store, error,
            "INSERT INTO blob (hash, size, codec, data) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
            "binb", hash.bytes, (size_t)KF_HASH_SIZE, packed.size, packed.codec, packed.data,
            packed.data_size))
        return 0;
    if (sqlite3_changes(store->db)) return sqlite3_last_insert_rowid(store->db);
    row = find(store, &hash, &blob, error);
    if (row == 0) damaged(store, error);
    return row == 1 ? blob : 0;
}

char *kf_blob_get(kf_store *store, int64_t blob, size_t *size, kf_error *error)
{
    kf_autoreset *statement =
        kf_sql(store, error, "SELECT size, codec, data, hash FROM blob WHERE id = ?", "i", blob);
    if (!statement) return NULL;
    int row = kf_sql_step(store, statement, error);
    if (row == 0) damaged(store, error);
    if (row != 1) return NULL;
    size_t plain_size;
    kf_autofree char *text = kf_unpack(store, statement, 0, &plain_size, error);
    if (!text) return NULL;
    kf_hash hash = kf_hash_bytes(text, plain_size);
    const void *expected = sqlite3_column_blob(statement, 3);
    if (!expected || sqlite3_column_bytes(statement, 3) != KF_HASH_SIZE ||
        memcmp(hash.bytes, expected, KF_HASH_SIZE) != 0)
        return damaged(store, error), NULL;
    if (size) *size = plain_size;
    return kf_steal(&text);
}
