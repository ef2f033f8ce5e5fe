/* Opening a store: finds the file, checks that it is a store before anything changes, sets the
 * connection up, and migrates an older store.
 *
 * Durability. With WAL and synchronous=FULL every commit syncs the log, so acknowledged data
 * survives a kill -9 and a power cut. NORMAL would be faster, but may lose the last commits in a
 * power cut. A verdict costs seconds of GPU time and a sync milliseconds, and groups share a sync.
 *
 * Foreign keys are declared and not enforced. Enforcing them would take about 5 % of the time of
 * storing a verdict. The transaction that writes an id looks it up instead (kf_row_refer), and
 * `kforge store check` tests all of them.
 */
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "kforge/buffer.h"
#include "kforge/file.h"
#include "kforge/store_maintenance.h"

double kf_store_time(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

const char *kf_store_path(const kf_store *store)
{
    return store->path;
}

/* The largest value of a column: a text in a frame that does not compress it. */
#define VALUE_BYTES ((int)KF_STORE_BLOB_BYTES + (16 << 20))

/* Steps of SQLite's virtual machine between two looks: well under a millisecond. */
#define INTERRUPT_STEPS 10000

static int is_interrupted(void *interrupts)
{
    return *(const volatile int *)interrupts != 0;
}

void kf_store_set_interrupt(kf_store *store, const volatile int *interrupts)
{
    sqlite3_progress_handler(store->db, INTERRUPT_STEPS, interrupts ? is_interrupted : NULL,
                             (void *)interrupts);
}

char *kf_store_default_path(kf_error *error)
{
    const char *path = getenv("KFORGE_STORE");
    const char *data = getenv("XDG_DATA_HOME");
    const char *home = getenv("HOME");
    kf_autobuffer text = {0};
    if (path && *path) kf_buffer_string(&text, path);
    /* The XDG base directory specification says to ignore a relative path. */
    else if (data && *data == '/')
        kf_buffer_format(&text, "%s/kforge/kforge.db", data);
    else if (home && *home)
        kf_buffer_format(&text, "%s/.local/share/kforge/kforge.db", home);
    else {
        kf_fail(error, KF_ERROR_INPUT,
                "no place for the store: set KFORGE_STORE to a file, or HOME");
        return NULL;
    }
    char *result = kf_buffer_take(&text);
    if (!result) kf_fail_memory(error, "a path");
    return result;
}

/* ---- connection ------------------------------------------------------------------------------ */

static double busy_seconds(void)
{
    const char *text = getenv("KFORGE_STORE_PATIENCE");
    char *end;
    double seconds = text ? strtod(text, &end) : 0;
    return text && end != text && seconds >= 0 && seconds <= 1e6 ? seconds : KF_STORE_BUSY_SECONDS;
}

/* Turns SQLite's statistics of memory off, which take one lock for all threads. */
static void configure(void)
{
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

/* Makes a file that is the user's alone. SQLite gives its log the same mode. A failure stays for
 * SQLite to report. */
static void make_private(const char *path)
{
    kf_autoclose int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0600);
    (void)fd;
}

static bool connect_database(kf_store *store, const char *name, int flags, kf_error *error)
{
    static pthread_once_t configured = PTHREAD_ONCE_INIT;
    pthread_once(&configured, configure);
    sqlite3_close_v2(store->db);
    store->db = NULL;
    if (sqlite3_open_v2(name, &store->db, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE,
                        NULL) != SQLITE_OK)
        return kf_sql_fail(store, "opening", error);
    sqlite3_busy_timeout(store->db, (int)(busy_seconds() * 1000));
    sqlite3_db_config(store->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(store->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_limit(store->db, SQLITE_LIMIT_LENGTH, VALUE_BYTES);
    return true;
}

/* Opens a store on a read-only file system, where SQLite can't make its shared-memory index. That
 * is safe without a log: the file alone then holds all data, and no process can change it. */
static bool connect_immutable(kf_store *store, kf_error *error)
{
    kf_autobuffer log = {0}, uri = {0};
    kf_buffer_format(&log, "%s-wal", store->path);
    struct stat status;
    if (log.failed || (stat(log.data, &status) == 0 && status.st_size > 0) ||
        access(store->path, R_OK) != 0)
        return false;
    kf_buffer_string(&uri, "file:");
    for (const unsigned char *c = (const unsigned char *)store->path; *c; c++) {
        bool plain = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ||
                     (*c >= '0' && *c <= '9') || strchr("/._-", *c);
        kf_buffer_format(&uri, plain ? "%c" : "%%%02X", *c);
    }
    kf_buffer_string(&uri, "?immutable=1");
    return !uri.failed &&
           connect_database(store, uri.data, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, error);
}

/* True if the file is a store of a version that this program knows, with the tables that kforge
 * makes, or is empty. */
static bool is_store(kf_store *store, int64_t application, int version, bool empty, kf_error *error)
{
    if (empty) return true;
    if (application != KF_APPLICATION_ID)
        return kf_fail(error, KF_ERROR_INPUT,
                       "%s: not a kforge store but another program's database: name another file",
                       store->path);
    if (version > kf_store_schema())
        return kf_fail(error, KF_ERROR_INPUT,
                       "%s: written by a newer kforge (schema %d, this one knows %d): update "
                       "kforge, or name another store in KFORGE_STORE",
                       store->path, version, kf_store_schema());
    return kf_schema_objects_check(store, version, error);
}

/* Reads the version of the store. *empty: the file has no bytes, or is an SQLite database without
 * tables. It takes one read transaction, since another process may be creating the store. */
static bool identify(kf_store *store, int *version, bool *empty, kf_error *error)
{
    int64_t application, number, objects;
    bool ok = kf_sql_execute(store, "BEGIN", "opening", error) &&
              kf_sql_once(store, "PRAGMA application_id", &application, "opening", error) &&
              kf_sql_once(store, "PRAGMA user_version", &number, "opening", error) &&
              kf_sql_once(store, "SELECT count(*) FROM sqlite_schema", &objects, "opening", error);
    /* The caller needs SQLite's error. It closes or reconnects, which ends the transaction. */
    if (!ok) return false;
    *version = (int)number;
    *empty = application == 0 && *version == 0 && objects == 0;
    return is_store(store, application, *version, *empty, error) &&
           kf_sql_execute(store, "COMMIT", "opening", error);
}

/* Switches to WAL. That needs an exclusive lock, for which SQLite does not always wait by itself.
 */
static bool enter_wal(kf_store *store, kf_error *error)
{
    double until = kf_now() + busy_seconds();
    for (;;) {
        sqlite3_stmt *statement = NULL;
        int rc = sqlite3_prepare_v2(store->db, "PRAGMA journal_mode = WAL", -1, &statement, NULL);
        if (rc == SQLITE_OK) rc = sqlite3_step(statement);
        bool row = rc == SQLITE_ROW;
        const char *mode = row ? (const char *)sqlite3_column_text(statement, 0) : NULL;
        bool wal = mode && !strcmp(mode, "wal");
        sqlite3_finalize(statement);
        if (wal) return true;
        if (row)
            return kf_fail(error, KF_ERROR_MACHINE,
                           "%s: the file system has no shared memory for SQLite's log (a network "
                           "drive?): put the store on a local disk",
                           store->path);
        if ((rc & 0xff) != SQLITE_BUSY || kf_now() > until)
            return kf_sql_fail(store, "opening", error);
        usleep(20000);
    }
}

static bool read_only(const char *path, kf_error *error)
{
    return kf_fail(error, KF_ERROR_IO,
                   "%s: the store is read-only: make file and folder writable, or name another in "
                   "KFORGE_STORE",
                   path);
}

static bool set_up_writer(kf_store *store, kf_error *error)
{
    if (sqlite3_db_readonly(store->db, "main") == 1) return read_only(store->path, error);
    /* The page size of a new store. Verdicts, samples and sources take 0.5 to 5 KB, and would waste
     * a third of SQLite's pages of 4 KB. */
    return kf_sql_execute(store, "PRAGMA page_size = 8192", "opening", error) &&
           enter_wal(store, error) &&
           kf_sql_execute(
               store,
               "PRAGMA synchronous = FULL; PRAGMA foreign_keys = OFF; PRAGMA cache_size = "
               "-16384; PRAGMA temp_store = MEMORY;"
               "PRAGMA wal_autocheckpoint = 2000; PRAGMA journal_size_limit = 67108864; PRAGMA "
               "secure_delete = OFF",
               "opening", error) &&
           kf_migrate(store, error) && kf_row_sums_keep(store, error);
}

static bool set_up_reader(kf_store *store, int version, bool empty, kf_error *error)
{
    if (empty)
        return kf_fail(error, KF_ERROR_INPUT, "%s: not a kforge store: the file is empty",
                       store->path);
    if (version < kf_store_schema())
        return kf_fail(error, KF_ERROR_INPUT,
                       "%s: written by an older kforge (schema %d, this one reads %d): bring it up "
                       "to date with `kforge store migrate`",
                       store->path, version, kf_store_schema());
    return kf_sql_execute(
        store, "PRAGMA query_only = ON; PRAGMA cache_size = -16384; PRAGMA temp_store = MEMORY",
        "opening", error);
}

/* Checks a path, for errors that SQLite reports poorly or not at all. */
static bool check_path(const char *path, kf_store_mode mode, kf_error *error)
{
    struct stat status;
    if (stat(path, &status) == 0) {
        if (S_ISDIR(status.st_mode))
            return kf_fail(
                error, KF_ERROR_INPUT,
                "%s: is a folder, a store is a file: name one in it, such as %s/kforge.db", path,
                path);
        if (!S_ISREG(status.st_mode))
            return kf_fail(error, KF_ERROR_INPUT,
                           "%s: not a regular file: name another for the store", path);
        if (mode != KF_STORE_READ && access(path, W_OK) != 0) return read_only(path, error);
        return true;
    }
    if (errno != ENOENT && errno != ENOTDIR)
        return kf_fail(error, KF_ERROR_IO, "%s: opening: %s", path, strerror(errno));
    if (mode != KF_STORE_CREATE)
        return kf_fail(
            error, KF_ERROR_INPUT,
            "%s: no store there yet: `kforge optimize` makes one, or set KFORGE_STORE to yours",
            path);
    const char *slash = strrchr(path, '/');
    if (!slash || slash == path) return true;
    kf_autofree char *folder = strndup(path, (size_t)(slash - path));
    return folder ? kf_directory_make_private(folder, error) : kf_fail_memory(error, "a path");
}

/* Returns a path that SQLite takes as a file name. ":memory:" has a meaning of its own,
 * "./:memory:" has not. */
static char *plain_path(const char *path, kf_error *error)
{
    kf_autofree char *fallback = path ? NULL : kf_store_default_path(error);
    if (!path && !(path = fallback)) return NULL;
    if (!*path)
        return kf_fail(error, KF_ERROR_INPUT, "the store's path is empty: name a file"), NULL;
    kf_autobuffer text = {0};
    kf_buffer_format(&text, "%s%s", strchr(path, '/') ? "" : "./", path);
    char *result = kf_buffer_take(&text);
    if (!result) kf_fail_memory(error, "a path");
    return result;
}

static bool open_database(kf_store *store, kf_store_mode mode, kf_error *error)
{
    if (!check_path(store->path, mode, error)) return false;
    static const int flags[] = {
        [KF_STORE_READ] = SQLITE_OPEN_READONLY,
        [KF_STORE_WRITE] = SQLITE_OPEN_READWRITE,
        [KF_STORE_CREATE] = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE,
    };
    int version = 0;
    bool empty = false;
    store->made = access(store->path, F_OK) != 0;
    if (store->made && mode == KF_STORE_CREATE) make_private(store->path);
    if (!connect_database(store, store->path, flags[mode], error)) return false;
    if (!identify(store, &version, &empty, error)) {
        int code = sqlite3_errcode(store->db);
        bool no_index = code == SQLITE_CANTOPEN || code == SQLITE_READONLY;
        if (mode != KF_STORE_READ || !no_index || !connect_immutable(store, error) ||
            !identify(store, &version, &empty, error))
            return false;
    }
    if (mode == KF_STORE_READ) return set_up_reader(store, version, empty, error);
    if (empty && mode == KF_STORE_WRITE)
        return kf_fail(error, KF_ERROR_INPUT, "%s: not a kforge store: the file is empty",
                       store->path);
    store->writable = true;
    return set_up_writer(store, error);
}

kf_store *kf_store_open(const char *path, kf_store_mode mode, kf_error *error)
{
    kf_auto(kf_store) store = calloc(1, sizeof *store);
    if (!store) {
        kf_fail_memory(error, "a store");
        return NULL;
    }
    store->path = plain_path(path, error);
    return store->path && open_database(store, mode, error) ? kf_steal(&store) : NULL;
}

bool kf_store_migrate(const char *path, int *from, int *to, kf_error *error)
{
    kf_auto(kf_store) store = calloc(1, sizeof *store);
    if (!store) return kf_fail_memory(error, "a store");
    bool empty = false;
    store->path = plain_path(path, error);
    if (!store->path || !check_path(store->path, KF_STORE_WRITE, error) ||
        !connect_database(store, store->path, SQLITE_OPEN_READWRITE, error) ||
        !identify(store, from, &empty, error))
        return false;
    if (empty)
        return kf_fail(error, KF_ERROR_INPUT, "%s: not a kforge store: the file is empty",
                       store->path);
    store->writable = true;
    *to = kf_store_schema();
    return set_up_writer(store, error);
}

void kf_store_close(kf_store *store)
{
    if (!store) return;
    if (store->db) kf_store_rollback(store);
    for (size_t i = 0; i < KF_STATEMENTS; i++) sqlite3_finalize(store->statements[i].statement);
    for (size_t i = 0; i < KF_IDLE_CURSORS; i++) sqlite3_finalize(store->idle[i]);
    sqlite3_close_v2(store->db);
    ZSTD_freeCCtx(store->compressor);
    ZSTD_freeDCtx(store->decompressor);
    free(store->path);
    free(store);
}
