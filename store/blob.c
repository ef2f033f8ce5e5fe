/* Texts as they are kept: compressed with zstd, and where they may repeat (sources, prompts,
 * replies, bundles) stored once under their SHA-256, which is checked again on every read. */
#include "internal.h"

#include <string.h>

enum { RAW = 0, ZSTD = 1, NUMBERS = 2 };

/* Level 3 makes typical texts some 5 % smaller at 1.5 times the time. Of small ones most of the
 * time goes into tables for the entropy coder: without (KF_PACK_FAST) a source of 2 KB is a seventh
 * larger and takes less than half the time, and columns of samples are 3 % larger. Verdicts, in
 * which numbers stand as text, are packed another way (numbers.c). */
#define SMALL 4096
#define WORTH_COMPRESSING 256

static bool out_of_memory(kf_store *store, kf_error *error)
{
    return kf_fail(error, KF_ERROR_MEMORY, "%s: out of memory for a text", store->path);
}

bool kf_pack(kf_store *store, int level, const void *data, size_t size, kf_packed *packed,
             kf_error *error)
{
    *packed = (kf_packed){
        .size = (int64_t)size, .codec = RAW, .data = data ? data : "", .data_size = size};
    if (size > KF_STORE_BLOB_BYTES)
        return kf_fail(error, KF_ERROR_LIMIT, "%s: a text of %zu bytes is over the limit of %u",
                       store->path, size, KF_STORE_BLOB_BYTES);
    if (size < WORTH_COMPRESSING) return true;
    if (!store->compressor && !(store->compressor = ZSTD_createCCtx()))
        return out_of_memory(store, error);
    if (level == KF_PACK_NUMBERS) {
        if (!kf_numbers_pack(store, data, size, &packed->owned, &packed->data_size))
            return out_of_memory(store, error);
        if (packed->owned && packed->data_size < size) {
            packed->codec = NUMBERS;
            packed->data = packed->owned;
            return true;
        }
        free(packed->owned);
        packed->owned = NULL;
        packed->data_size = size;
        level = KF_PACK_TEXT;
    }
    size_t bound = ZSTD_compressBound(size);
    kf_autofree char *buffer = malloc(bound);
    if (!buffer) return out_of_memory(store, error);
    size_t compressed = ZSTD_compressCCtx(store->compressor, buffer, bound, data, size, level);
    if (ZSTD_isError(compressed))
        return kf_fail(error, KF_ERROR_MEMORY, "%s: compressing a text: %s", store->path,
                       ZSTD_getErrorName(compressed));
    if (compressed >= size) return true;
    packed->codec = ZSTD;
    packed->data = packed->owned = kf_steal(&buffer);
    packed->data_size = compressed;
    return true;
}

static bool damaged(kf_store *store, kf_error *error)
{
    return kf_fail(error, KF_ERROR_IO, "%s: a stored text is damaged: restore a copy of the store",
                   store->path);
}

char *kf_unpack_bytes(kf_store *store, int64_t plain_size, int codec, const void *data,
                      size_t data_size, size_t *size, kf_error *error)
{
    if (plain_size < 0 || plain_size > KF_STORE_BLOB_BYTES ||
        (codec == RAW && (size_t)plain_size != data_size) || codec < RAW || codec > NUMBERS)
        return damaged(store, error), NULL;
    kf_autofree char *text = malloc((size_t)plain_size + 1);
    if (!text) return out_of_memory(store, error), NULL;
    if (codec == RAW) {
        if (data_size) memcpy(text, data, data_size);
    } else {
        if (!store->decompressor && !(store->decompressor = ZSTD_createDCtx()))
            return out_of_memory(store, error), NULL;
        bool good = codec == NUMBERS
                        ? kf_numbers_unpack(store, data, data_size, text, (size_t)plain_size)
                        : ZSTD_decompressDCtx(store->decompressor, text, (size_t)plain_size, data,
                                              data_size) == (size_t)plain_size;
        if (!good) return damaged(store, error), NULL;
    }
    text[plain_size] = '\0';
    if (size) *size = (size_t)plain_size;
    return kf_steal(&text);
}

char *kf_unpack(kf_store *store, sqlite3_stmt *statement, int column, size_t *size, kf_error *error)
{
    const void *data = sqlite3_column_blob(statement, column + 2);
    if (!data && sqlite3_errcode(store->db) == SQLITE_NOMEM)
        return out_of_memory(store, error), NULL;
    return kf_unpack_bytes(store, sqlite3_column_int64(statement, column),
                           sqlite3_column_int(statement, column + 1), data,
                           (size_t)sqlite3_column_bytes(statement, column + 2), size, error);
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
    /* A small text is mostly a new one, and packing it for nothing costs little: it is looked up
     * only where it can't be inserted. */
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
