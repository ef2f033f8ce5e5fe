/* Maintenance of a store: statistics, removing an empty store, digest, backup, vacuum. */
#include "kforge/store_maintenance.h"

#include <cjson/cJSON.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "internal.h"
#include "kforge/buffer.h"
#include "kforge/file.h"
#include "kforge/json.h"

/* ---- stats ----------------------------------------------------------------------------------- */

static int64_t file_bytes(const char *path, const char *suffix)
{
    char name[4096];
    struct stat status;
    int length = snprintf(name, sizeof name, "%s%s", path, suffix);
    return length > 0 && (size_t)length < sizeof name && stat(name, &status) == 0
               ? (int64_t)status.st_size
               : 0;
}

bool kf_store_get_stats(kf_store *store, kf_store_stats *stats, kf_error *error)
{
    *stats = (kf_store_stats){.schema = kf_store_schema(), .first = NAN, .last = NAN};
    stats->bytes = file_bytes(store->path, "") + file_bytes(store->path, "-wal");
    const struct {
        const char *sql;
        int64_t *targets[3];
    } rows[] = {
        {"SELECT p.page_size * f.freelist_count FROM pragma_page_size p, pragma_freelist_count f",
         {&stats->unused}},
        {"SELECT count(*), CAST(total(candidates) AS INTEGER) FROM task",
         {&stats->tasks, &stats->candidates}},
        {"SELECT count(*) FROM device", {&stats->devices}},
        {"SELECT count(*), CAST(total(attempts) AS INTEGER) FROM run",
         {&stats->runs, &stats->attempts}},
        {"SELECT count(*), sum(status = 'correct') FROM verdict",
         {&stats->verdicts, &stats->correct}},
        {"SELECT count(*) FROM model_call", {&stats->model_calls}},
        {"SELECT count(*) FROM note", {&stats->notes}},
        {"SELECT count(*), sum(size), sum(length(data)) FROM blob",
         {&stats->blobs, &stats->blob_bytes, &stats->blob_stored_bytes}},
        {"SELECT sum(size), sum(length(data)) FROM verdict_json",
         {&stats->verdict_bytes, &stats->verdict_stored_bytes}},
        {"SELECT sum(count), sum(size), sum(length(data)) FROM sample",
         {&stats->samples, &stats->sample_bytes, &stats->sample_stored_bytes}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        kf_auto(kf_store_cursor) cursor = kf_cursor(store, error, rows[i].sql, "");
        if (!cursor || kf_cursor_step(cursor, error) != 1) return false;
        for (int k = 0; k < 3 && rows[i].targets[k]; k++)
            *rows[i].targets[k] = sqlite3_column_int64(cursor->statement, k);
    }
    kf_auto(kf_store_cursor) times =
        kf_cursor(store, error, "SELECT min(created), max(created) FROM verdict", "");
    if (!times || kf_cursor_step(times, error) != 1) return false;
    stats->first = kf_sql_double(times->statement, 0);
    stats->last = kf_sql_double(times->statement, 1);
    return true;
}

/* ---- removing an empty store ----------------------------------------------------------------- */

/* True if no other process has the store open. From then on it can't be opened until this
 * connection closes. Leaving WAL mode needs such a lock. */
static bool is_alone(kf_store *store)
{
    sqlite3_busy_timeout(store->db, 0);
    return sqlite3_exec(
               store->db,
               "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE",
               NULL, NULL, NULL) == SQLITE_OK;
}

void kf_store_discard(kf_store *store)
{
    int64_t first;
    /* All other rows refer to one of these. */
    static const char any[] = "SELECT 1 FROM (SELECT id FROM blob UNION ALL SELECT id FROM task "
                              "UNION ALL SELECT id FROM device"
                              " UNION ALL SELECT id FROM run) LIMIT 1";
    if (store->made && is_alone(store) && kf_sql_integer(store, &first, NULL, any, "") == 0)
        unlink(store->path);
    kf_store_close(store);
}

/* ---- digest ---------------------------------------------------------------------------------- */

/* All content of a store, with hashes, keys and names in place of row ids. */
static const char *const contents[] = {
    "SELECT t.hash, t.name, b.hash, t.created, t.candidates FROM task t JOIN blob b ON b.id = "
    "t.bundle",
    "SELECT name FROM device",
    "SELECT hash, size FROM blob",
    "SELECT r.key, t.hash, d.name, r.options, r.seed, r.status, r.host, r.owner, r.started, "
    "r.updated, r.ended, r.attempts, "
    "r.judged,"
    " r.correct, kf_plain(s.size, s.codec, s.data) FROM run r JOIN task t ON t.id = r.task JOIN "
    "device d ON d.id = r.device"
    " LEFT JOIN run_state s ON s.run = r.id",
    "SELECT t.hash, c.hash, b.hash, c.flags, c.tunables, c.features, c.created FROM candidate c "
    "JOIN task t ON t.id = c.task"
    " JOIN blob b ON b.id = c.source",
    "SELECT t.hash, c.hash, d.name, v.status, v.blame, v.speedup, v.low, v.high, v.reverified, "
    "v.standing, v.binary_hash, "
    "v.code_hash,"
    " v.message, v.build_seconds, v.judge_seconds, v.created, kf_plain(j.size, j.codec, j.data), "
    "kf_plain(s.size, s.codec, s.data)"
    " FROM verdict v JOIN candidate c ON c.id = v.candidate JOIN task t ON t.id = v.task JOIN "
    "device d ON d.id = v.device"
    " JOIN verdict_json j ON j.verdict = v.id LEFT JOIN sample s ON s.verdict = v.id",
    "SELECT r.key, m.provider, m.model, m.purpose, m.settings, y.hash, p.hash, a.hash, m.outcome, "
    "m.message, m.prompt_tokens,"
    " m.completion_tokens, m.cost_usd, m.seconds, m.created FROM model_call m LEFT JOIN run r ON "
    "r.id = m.run LEFT JOIN blob y ON "
    "y.id = m.system"
    " JOIN blob p ON p.id = m.prompt LEFT JOIN blob a ON a.id = m.reply",
    "SELECT r.key, a.number, a.outcome, a.message, a.proposer, a.strategy, a.step, a.island, "
    "m.created, p.hash, c.hash, v.created, "
    "v.status,"
    " a.began, a.created, a.unverified FROM attempt a JOIN run r ON r.id = a.run"
    " LEFT JOIN model_call m ON m.id "
    "= a.model_call LEFT JOIN blob p "
    "ON p.id = "
    "m.prompt"
    " LEFT JOIN candidate c ON c.id = a.candidate LEFT JOIN verdict v ON v.id = a.verdict",
    "SELECT r.key, l.attempt, l.ordinal, c.hash, p.hash, l.role FROM lineage l JOIN run r ON r.id "
    "= l.run JOIN candidate c ON c.id "
    "= l.child"
    " JOIN candidate p ON p.id = l.parent",
    "SELECT r.key, c.hash, v.created, v.status, m.attempt, m.island, m.cell, m.bucket, m.position, "
    "m.score, m.reverified FROM "
    "member m"
    " JOIN run r ON r.id = m.run JOIN candidate c ON c.id = m.candidate JOIN verdict v ON v.id = "
    "m.verdict",
    "SELECT r.key, t.island, t.bucket, t.count FROM tally t JOIN run r ON r.id = t.run",
    "SELECT t.hash, c.hash, d.name, kf_plain(k.size, k.codec, k.data), k.created FROM counters k "
    "JOIN candidate c ON c.id = "
    "k.candidate"
    " JOIN task t ON t.id = c.task JOIN device d ON d.id = k.device",
    "SELECT d.name, c.name, c.value, c.measured FROM ceiling c JOIN device d ON d.id = c.device",
    "SELECT t.hash, r.key, d.name, c.hash, n.kind, n.text, n.effect, n.created FROM note n LEFT "
    "JOIN task t ON t.id = n.task"
    " LEFT JOIN run r ON r.id = n.run LEFT JOIN device d ON d.id = n.device LEFT JOIN candidate c "
    "ON c.id = n.candidate",
};
#define CONTENTS (sizeof contents / sizeof *contents)

/* Adds the hashes of all rows, word by word. The sum does not depend on the order of rows, and a
 * row that occurs twice counts twice. */
static bool sum_rows(kf_store *store, const char *sql, uint64_t sum[5], kf_error *error)
{
    kf_auto(kf_store_cursor) cursor = kf_cursor(store, error, sql, "");
    kf_autobuffer text = {0};
    int row = cursor ? 1 : -1;
    while (row == 1 && (row = kf_cursor_step(cursor, error)) == 1) {
        kf_buffer_clear(&text);
        for (int i = 0; i < sqlite3_column_count(cursor->statement); i++) {
            /* Numbers have the text that SQLite prints. */
            const void *field = sqlite3_column_blob(cursor->statement, i);
            int size = sqlite3_column_bytes(cursor->statement, i);
            kf_buffer_format(
                &text, "%d:%d:", sqlite3_column_type(cursor->statement, i) == SQLITE_NULL, size);
            if (size) kf_buffer_append(&text, field, (size_t)size);
        }
        if (text.failed) return kf_fail_memory(error, "a digest");
        kf_hash hash = kf_hash_bytes(text.data, text.size);
        for (int i = 0; i < 4; i++) {
            uint64_t word;
            memcpy(&word, hash.bytes + 8 * i, sizeof word);
            sum[i] += word;
        }
        sum[4]++;
    }
    return row == 0;
}

bool kf_store_digest(kf_store *store, char hex[KF_HASH_HEX], kf_error *error)
{
    uint64_t sums[CONTENTS][5] = {0};
    if (!kf_functions(store, error)) return false;
    /* One snapshot, even while other processes write. */
    bool own = sqlite3_get_autocommit(store->db) != 0;
    if (own && !kf_sql_do(store, error, "BEGIN", "")) return false;
    bool ok = true;
    for (size_t i = 0; i < CONTENTS && ok; i++) ok = sum_rows(store, contents[i], sums[i], error);
    if (own) kf_sql_do(store, NULL, "COMMIT", "");
    kf_hash hash = kf_hash_bytes(sums, sizeof sums);
    kf_hash_hex(&hash, hex);
    return ok;
}

/* ---- backup ---------------------------------------------------------------------------------- */

/* A copy is written under this name in the folder of the backup. Its process holds a lock on it. */
#define PART ".kforge-backup-"

/* Fills *error after SQLite failed with `rc`. `path` is that of the backup. */
static bool fail_copy(kf_store *store, const char *path, int rc, int system_error, kf_error *error)
{
    if ((rc & 0xff) == SQLITE_FULL || system_error == ENOSPC)
        return kf_fail(error, KF_ERROR_IO,
                       "%s: copying: the disk is full: free some space and try again", path);
    if ((rc & 0xff) == SQLITE_CORRUPT)
        return kf_fail(error, KF_ERROR_IO,
                       "%s: the store is damaged: restore a copy, or recover what is left with "
                       "sqlite3's .recover command",
                       store->path);
    return kf_fail(error, KF_ERROR_IO,
                   "%s: copying: %s%s%s: check that the folder exists and is writable", path,
                   sqlite3_errstr(rc), system_error ? ": " : "",
                   system_error ? strerror(system_error) : "");
}

static bool copy_pages(kf_store *store, const char *part, const char *path, kf_error *error)
{
    sqlite3 *copy = NULL;
    int rc = sqlite3_open_v2(part, &copy, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
    /* The copy has no journal, which a killed process would leave. */
    if (rc == SQLITE_OK)
        rc = sqlite3_exec(copy, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF", NULL, NULL,
                          NULL);
    sqlite3_backup *backup =
        rc == SQLITE_OK ? sqlite3_backup_init(copy, "main", store->db, "main") : NULL;
    if (backup) {
        /* This copies all pages of one snapshot, while other processes write to the log. */
        sqlite3_backup_step(backup, -1);
        rc = sqlite3_backup_finish(backup);
    } else if (rc == SQLITE_OK)
        rc = sqlite3_errcode(copy);
    int system_error = copy ? sqlite3_system_errno(copy) : 0;
    sqlite3_close_v2(copy);
    return rc == SQLITE_OK || fail_copy(store, path, rc, system_error, error);
}

/* Marks the file as one without a log: bytes 18 and 19 of SQLite's header. */
static bool finish_file(int fd)
{
    return pwrite(fd, "\1\1", 2, 18) == 2 && fsync(fd) == 0;
}

/* True if the lock on the file is ours, and the file still has its name. */
static bool lock_file(int folder, const char *name, int fd)
{
    struct stat open_file, named;
    return flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &open_file) == 0 &&
           fstatat(folder, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           open_file.st_dev == named.st_dev && open_file.st_ino == named.st_ino;
}

/* Removes the unlocked copies that killed processes left in the folder. Ignores errors. */
static void remove_abandoned(int folder)
{
    int again = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *names = again >= 0 ? fdopendir(again) : NULL;
    if (!names && again >= 0) close(again);
    for (struct dirent *entry; names && (entry = readdir(names));) {
        if (strncmp(entry->d_name, PART, sizeof PART - 1) != 0) continue;
        kf_autoclose int fd =
            openat(folder, entry->d_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (fd >= 0 && lock_file(folder, entry->d_name, fd)) unlinkat(folder, entry->d_name, 0);
    }
    if (names) closedir(names);
}

/* Makes a locked file for the copy, and returns its descriptor; -1 on error. */
static int make_part(int folder, char *name, size_t size)
{
    for (int tries = 0; tries < 100; tries++) {
        uint32_t chance = 0;
        if (!kf_random(&chance, sizeof chance)) return -1;
        snprintf(name, size, PART "%08x", (unsigned)chance);
        kf_autoclose int fd = openat(folder, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (fd < 0 && errno != EEXIST) return -1;
        /* Another process may have taken it for an abandoned one before the lock. */
        if (fd >= 0 && lock_file(folder, name, fd)) {
            int locked = fd;
            fd = -1;
            return locked;
        }
        if (fd >= 0) unlinkat(folder, name, 0);
    }
    return -1;
}

static bool copy_into(kf_store *store, const char *path, const char *above, int folder,
                      kf_error *error)
{
    char name[64];
    kf_autoclose int fd = make_part(folder, name, sizeof name);
    if (fd < 0)
        return kf_fail(error, KF_ERROR_IO,
                       "%s: copying: %s: check that the folder exists and is writable", path,
                       strerror(errno));
    kf_autofree char *part = kf_path_join(above, name);
    bool ok = part ? copy_pages(store, part, path, error) : kf_fail_memory(error, "a path");
    /* link, unlike rename, overwrites no file that appeared meanwhile. */
    if (ok && (!finish_file(fd) || link(part, path) != 0))
        ok = kf_fail(error, KF_ERROR_IO, "%s: %s", path, strerror(errno));
    unlinkat(folder, name, 0);
    return ok;
}

bool kf_store_backup(kf_store *store, const char *path, kf_error *error)
{
    struct stat status;
    if (stat(path, &status) == 0)
        return kf_fail(error, KF_ERROR_INPUT,
                       "%s: exists already: name another file, or move this one away", path);
    const char *slash = strrchr(path, '/');
    kf_autofree char *above = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    if (!above) return kf_fail_memory(error, "a path");
    kf_autoclose int folder = open(above, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
        return kf_fail(error, KF_ERROR_IO,
                       "%s: copying: %s: check that the folder exists and is writable", path,
                       strerror(errno));
    remove_abandoned(folder);
    return copy_into(store, path, above, folder, error);
}

/* ---- vacuum ---------------------------------------------------------------------------------- */

static void forget_samples(cJSON *verdict)
{
    cJSON *workload;
    cJSON_ArrayForEach(workload, cJSON_GetObjectItemCaseSensitive(verdict, "workloads"))
    {
        cJSON *samples = cJSON_GetObjectItemCaseSensitive(workload, "samples"), *column;
        cJSON_ArrayForEach(column, samples)
        {
            if (cJSON_IsString(column)) cJSON_SetValuestring(column, "");
            while (cJSON_IsArray(column) && column->child) cJSON_DeleteItemFromArray(column, 0);
        }
    }
}

static bool drop_samples(kf_store *store, int64_t verdict, kf_error *error)
{
    size_t size;
    kf_autofree char *text = kf_store_verdict_json(store, verdict, &size, error);
    if (!text) return false;
    cJSON *json = cJSON_ParseWithLength(text, size);
    if (json) forget_samples(json);
    char *less = json ? kf_json_print_exact(json) : NULL;
    cJSON_Delete(json);
    kf_autopacked packed = {0};
    bool ok = true;
    if (less)
        ok = kf_pack(store, KF_PACK_TEXT, less, strlen(less), &packed, error) &&
             kf_sql_do(store, error,
                       "UPDATE verdict_json SET size = ?, codec = ?, data = ? WHERE verdict = ?",
                       "inbi", packed.size, packed.codec, packed.data, packed.data_size, verdict);
    cJSON_free(less);
    return ok && kf_sql_do(store, error, "DELETE FROM sample WHERE verdict = ?", "i", verdict);
}

static bool drop_old_samples(kf_store *store, double days, int64_t *dropped, kf_error *error)
{
    int64_t last = 0, verdict;
    double before = kf_store_time() - days * 86400;
    int row;
    while ((row = kf_sql_integer(
                store, &verdict, error,
                "SELECT v.id FROM verdict v JOIN sample s ON s.verdict = v.id WHERE v.id > ? AND "
                "v.created < ?"
                " AND NOT (v.standing = 1 AND v.status = 'correct') ORDER BY v.id LIMIT 1",
                "id", last, before)) == 1) {
        if (!drop_samples(store, verdict, error)) return false;
        last = verdict;
        ++*dropped;
    }
    return row == 0;
}

bool kf_blobs_drop_orphans(kf_store *store, kf_error *error)
{
    return kf_sql_do(store, error,
                     "DELETE FROM blob WHERE id NOT IN (SELECT bundle FROM task UNION ALL SELECT "
                     "source FROM candidate UNION ALL"
                     " SELECT system FROM model_call WHERE system IS NOT NULL UNION ALL SELECT "
                     "prompt FROM model_call UNION ALL"
                     " SELECT reply FROM model_call WHERE reply IS NOT NULL)",
                     "");
}

bool kf_store_vacuum(kf_store *store, double samples_days, int64_t *dropped, kf_error *error)
{
    int64_t count = 0;
    if (!kf_store_begin(store, error)) return false;
    bool ok = (samples_days < 0 || drop_old_samples(store, samples_days, &count, error)) &&
              kf_blobs_drop_orphans(store, error);
    if (!ok) return kf_store_rollback(store), false;
    if (!kf_store_commit(store, error)) return false;
    if (dropped) *dropped = count;
    if (sqlite3_exec(store->db, "VACUUM; PRAGMA wal_checkpoint(TRUNCATE)", NULL, NULL, NULL) ==
        SQLITE_OK)
        return true;
    return kf_sql_fail(store, "giving space back", error);
}
