/* The population of a run: the candidates from which the search draws parents.
 *
 * Members have positions 0 … count - 1 within (run, island, bucket). A bucket is a narrow range of
 * speedups, or a status. Table tally holds the counts, a few hundred rows for a population of any
 * size. Drawing member number `rank` walks over these rows and looks up one position. The last
 * member of a bucket takes the position of one that leaves it, so positions stay dense in O(log n).
 * Positions follow from the history of the run alone, so equal histories draw equal members.
 */
#include "internal.h"

#include <math.h>
#include <string.h>

/* ---- which verdict stands -------------------------------------------------------------------- */

static bool not_its_fault(const kf_standing *standing)
{
    return standing->blame == KF_BLAME_MACHINE || standing->blame == KF_BLAME_TASK ||
           standing->blame == KF_BLAME_JUDGE;
}

static bool convicted(const kf_standing *standing)
{
    return standing->status == KF_WRONG_RESULT || standing->status == KF_CONTRACT_VIOLATION ||
           standing->status == KF_CHEATING;
}

/* More than this times the width of an interval, or of the smallest one that counts, is vague. */
#define VAGUE_FACTOR 2
#define LEAST_WIDTH 0.02

/* Returns the logarithm of the ratio of the interval's ends. */
static double width_of(const kf_standing *standing)
{
    double width = log(standing->high / standing->low);
    return isfinite(width) ? width : INFINITY;
}

bool kf_standing_replaces(const kf_standing *fresh, const kf_standing *old)
{
    if (not_its_fault(old)) return true;
    if (not_its_fault(fresh)) return false;
    if (fresh->status != KF_CORRECT) return true;
    if (convicted(old)) return false;
    if (old->status != KF_CORRECT) return true;
    if (old->speedup > 0 && !(fresh->speedup > 0)) return false;
    if (fresh->reverified != old->reverified) return fresh->reverified;
    return width_of(fresh) <= VAGUE_FACTOR * fmax(width_of(old), LEAST_WIDTH);
}

/* ---- buckets --------------------------------------------------------------------------------- */

int kf_store_bucket_of(double speedup)
{
    if (!(speedup > 0)) return KF_BUCKET_FAILED + KF_CORRECT;
    double bucket = floor(KF_BUCKETS_PER_OCTAVE * log2(speedup));
    return bucket < KF_BUCKET_LOW    ? KF_BUCKET_LOW
           : bucket > KF_BUCKET_HIGH ? KF_BUCKET_HIGH
                                     : (int)bucket;
}

double kf_store_bucket_edge(int bucket)
{
    return exp2((double)bucket / KF_BUCKETS_PER_OCTAVE);
}

static int bucket_of_standing(const kf_standing *standing)
{
    return standing->status == KF_CORRECT ? kf_store_bucket_of(standing->speedup)
                                          : KF_BUCKET_FAILED + (int)standing->status;
}

/* Counts a new member of a bucket and returns its position, -1 on error. */
static int64_t enter(kf_store *store, int64_t run, int island, int bucket, kf_error *error)
{
    int64_t count = 0;
    if (!kf_sql_do(store, error,
                   "INSERT INTO tally (run, island, bucket, count) VALUES (?, ?, ?, 1) ON CONFLICT "
                   "DO UPDATE SET count = count + 1",
                   "inn", run, island, bucket))
        return -1;
    int row = kf_sql_integer(store, &count, error,
                             "SELECT count FROM tally WHERE run = ? AND island = ? AND bucket = ?",
                             "inn", run, island, bucket);
    return row == 1 ? count - 1 : -1;
}

/* Gives the position of a member that left to the last member of the bucket. */
static bool leave(kf_store *store, int64_t run, int island, int bucket, int64_t position,
                  kf_error *error)
{
    int64_t last = 0;
    int row = kf_sql_integer(store, &last, error,
                             "UPDATE tally SET count = count - 1 WHERE run = ? AND island = ? AND "
                             "bucket = ? RETURNING count",
                             "inn", run, island, bucket);
    if (row == 0)
        kf_fail(error, KF_ERROR_IO,
                "%s: the population of a run is damaged: restore a copy of the store", store->path);
    if (row != 1) return false;
    if (position != last && !kf_sql_do(store, error,
                                       "UPDATE member SET position = ? WHERE run = ? AND island = "
                                       "? AND bucket = ? AND position = ?",
                                       "iinni", position, run, island, bucket, last))
        return false;
    return last > 0 ||
           kf_sql_do(store, error, "DELETE FROM tally WHERE run = ? AND island = ? AND bucket = ?",
                     "inn", run, island, bucket);
}

/* ---- members --------------------------------------------------------------------------------- */

static bool find_member(kf_store *store, int64_t run, int64_t candidate, kf_member_row *member,
                        kf_error *error)
{
    kf_autoreset *statement =
        kf_sql(store, error,
               "SELECT m.island, m.bucket, m.position, v.id, v.status, v.blame, m.score, "
               "m.reverified, v.low, v.high FROM member m"
               " JOIN verdict v ON v.id = m.verdict WHERE m.run = ? AND m.candidate = ?",
               "ii", run, candidate);
    int row = statement ? kf_sql_step(store, statement, error) : -1;
    member->found = row == 1;
    if (row != 1) return row == 0;
    member->island = sqlite3_column_int(statement, 0);
    member->bucket = sqlite3_column_int(statement, 1);
    member->position = sqlite3_column_int64(statement, 2);
    member->standing = kf_standing_read(statement, 3);
    return true;
}

kf_standing kf_standing_read(sqlite3_stmt *statement, int column)
{
    return (kf_standing){
        .verdict = sqlite3_column_int64(statement, column),
        .status = kf_sql_status(statement, column + 1),
        .blame = kf_sql_blame(statement, column + 2),
        .speedup = kf_sql_double(statement, column + 3),
        .reverified = sqlite3_column_int(statement, column + 4) != 0,
        .low = kf_sql_double(statement, column + 5),
        .high = kf_sql_double(statement, column + 6),
    };
}

/* Moves a member to the end of another bucket, then fills its old position. No two members ever
 * share a position. */
static bool relocate(kf_store *store, int64_t run, int64_t candidate, const kf_member_row *old,
                     int island, int bucket, kf_error *error)
{
    if (old->island == island && old->bucket == bucket) return true;
    int64_t position = enter(store, run, island, bucket, error);
    return position >= 0 &&
           kf_sql_do(store, error,
                     "UPDATE member SET island = ?, bucket = ?, position = ? WHERE run = ? AND "
                     "candidate = ?",
                     "nniii", island, bucket, position, run, candidate) &&
           leave(store, run, old->island, old->bucket, old->position, error);
}

bool kf_member_plan(kf_store *store, int64_t run, int64_t candidate, bool is_new,
                    const kf_standing *standing, kf_member_change *change, kf_error *error)
{
    *change = (kf_member_change){.needed = true};
    if (!is_new && !find_member(store, run, candidate, &change->old, error)) return false;
    change->more_judged = !change->old.found;
    change->more_correct = standing->status == KF_CORRECT;
    if (!change->old.found) return true;
    change->needed = kf_standing_replaces(standing, &change->old.standing);
    change->more_correct =
        change->needed ? change->more_correct - (change->old.standing.status == KF_CORRECT) : 0;
    return true;
}

static bool add_member(kf_store *store, int64_t run, int64_t candidate, int64_t attempt, int island,
                       const char *cell, const kf_standing *standing, kf_error *error)
{
    int bucket = bucket_of_standing(standing);
    int64_t position = enter(store, run, island, bucket, error);
    return position >= 0 &&
           kf_sql_do(store, error,
                     "INSERT INTO member (run, candidate, verdict, attempt, island, cell, bucket, "
                     "position, score, reverified)"
                     " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                     "iiiintnidn", run, candidate, standing->verdict, attempt, island, cell, bucket,
                     position, standing->speedup, (int)standing->reverified);
}

bool kf_member_apply(kf_store *store, int64_t run, int64_t candidate, int64_t attempt, int island,
                     const char *cell, const kf_standing *standing, const kf_member_change *change,
                     kf_error *error)
{
    const kf_member_row *old = &change->old;
    if (!change->needed) return true;
    if (!old->found)
        return add_member(store, run, candidate, attempt, island, cell, standing, error);
    return kf_sql_do(store, error,
                     "UPDATE member SET verdict = ?, score = ?, reverified = ?, cell = coalesce(?, "
                     "cell) WHERE run = ? AND candidate = ?",
                     "idntii", standing->verdict, standing->speedup, (int)standing->reverified,
                     cell, run, candidate) &&
           relocate(store, run, candidate, old, old->island, bucket_of_standing(standing), error);
}

bool kf_members_follow(kf_store *store, int64_t verdict, kf_error *error)
{
    kf_auto(kf_store_cursor) members =
        kf_cursor(store, error,
                  "SELECT m.run, m.candidate, v.id, v.status, v.blame, v.speedup, v.reverified, "
                  "v.low, v.high FROM member m JOIN verdict v ON v.id = m.verdict WHERE v.id = ? "
                  "ORDER BY m.run",
                  "i", verdict);
    int row = members ? 1 : -1;
    while (row == 1 && (row = kf_cursor_step(members, error)) == 1) {
        int64_t run = sqlite3_column_int64(members->statement, 0);
        int64_t candidate = sqlite3_column_int64(members->statement, 1);
        kf_standing standing = kf_standing_read(members->statement, 2);
        kf_member_change change = {.needed = true};
        if (!find_member(store, run, candidate, &change.old, error) ||
            !kf_member_apply(store, run, candidate, 0, 0, NULL, &standing, &change, error))
            return false;
    }
    return row == 0;
}

static bool move(kf_store *store, const char *run, int64_t candidate, int island, const char *cell,
                 kf_error *error)
{
    kf_member_row old;
    if (!kf_run_load(store, run, error) || !find_member(store, store->run, candidate, &old, error))
        return false;
    if (!old.found)
        return kf_fail(error, KF_ERROR_INPUT,
                       "%s: candidate %lld is not in the population of run %s", store->path,
                       (long long)candidate, run);
    return kf_sql_do(store, error, "UPDATE member SET cell = ? WHERE run = ? AND candidate = ?",
                     "tii", cell, store->run, candidate) &&
           relocate(store, store->run, candidate, &old, island, old.bucket, error);
}

bool kf_store_move(kf_store *store, const char *run, int64_t candidate, int island,
                   const char *cell, kf_error *error)
{
    return kf_write_begin(store, error) &&
           kf_write_end(store, move(store, run, candidate, island, cell, error), error);
}

/* ---- drawing --------------------------------------------------------------------------------- */

bool kf_store_histogram(kf_store *store, const char *run, int island,
                        kf_store_bucket buckets[KF_MAX_BUCKETS], size_t *count, kf_error *error)
{
    *count = 0;
    int64_t row_id = kf_run_row(store, run, error);
    if (!row_id) return false;
    kf_autoreset *statement =
        kf_sql(store, error,
               "SELECT bucket, sum(count) FROM tally WHERE run = ?1 AND (?2 < 0 OR island = ?2)"
               " GROUP BY bucket ORDER BY bucket",
               "in", row_id, island);
    if (!statement) return false;
    int row;
    while ((row = kf_sql_step(store, statement, error)) == 1 && *count < KF_MAX_BUCKETS)
        buckets[(*count)++] =
            (kf_store_bucket){sqlite3_column_int(statement, 0), sqlite3_column_int64(statement, 1)};
    return row >= 0;
}

bool kf_store_count_statuses(kf_store *store, const char *run, int64_t counts[KF_STATUS_COUNT],
                             kf_error *error)
{
    kf_store_bucket buckets[KF_MAX_BUCKETS];
    size_t count;
    memset(counts, 0, KF_STATUS_COUNT * sizeof *counts);
    if (!kf_store_histogram(store, run, -1, buckets, &count, error)) return false;
    for (size_t i = 0; i < count; i++) {
        int status = buckets[i].bucket < KF_BUCKET_FAILED ? KF_CORRECT
                                                          : buckets[i].bucket - KF_BUCKET_FAILED;
        if (status < KF_STATUS_COUNT) counts[status] += buckets[i].count;
    }
    return true;
}

static bool load_member(kf_store *store, int64_t run, int island, int bucket, int64_t position,
                        kf_store_candidate *candidate, bool *found, kf_error *error)
{
    kf_autoreset *statement =
        kf_sql(store, error,
               "SELECT " KF_MEMBER_COLUMNS
               " FROM member m JOIN run r ON r.id = m.run JOIN candidate c ON c.id = m.candidate"
               " JOIN task t ON t.id = c.task JOIN verdict v ON v.id = m.verdict JOIN device d ON "
               "d.id = v.device"
               " WHERE m.run = ? AND m.island = ? AND m.bucket = ? AND m.position = ?",
               "inni", run, island, bucket, position);
    int row = statement ? kf_sql_step(store, statement, error) : -1;
    if (row == 0)
        kf_fail(error, KF_ERROR_IO,
                "%s: the population of a run is damaged: restore a copy of the store", store->path);
    *found = row == 1 && kf_candidate_fill(store, statement, candidate, error);
    return *found;
}

bool kf_store_pick(kf_store *store, const char *run, int island, int low, int high, uint64_t rank,
                   kf_store_candidate *candidate, bool *found, kf_error *error)
{
    *found = false;
    int64_t row_id = kf_run_row(store, run, error);
    if (!row_id) return false;
    kf_autoreset *statement =
        kf_sql(store, error,
               "SELECT bucket, island, count FROM tally WHERE run = ?1 AND bucket BETWEEN ?3 AND ?4"
               " AND (?2 < 0 OR island = ?2) ORDER BY bucket, island",
               "innn", row_id, island, low, high);
    if (!statement) return false;
    int row;
    while ((row = kf_sql_step(store, statement, error)) == 1) {
        uint64_t count = (uint64_t)sqlite3_column_int64(statement, 2);
        if (rank < count)
            return load_member(store, row_id, sqlite3_column_int(statement, 1),
                               sqlite3_column_int(statement, 0), (int64_t)rank, candidate, found,
                               error);
        rank -= count;
    }
    return row == 0;
}

/* Timed correct members are in the buckets below KF_BUCKET_FAILED, untimed ones in a bucket of
 * their own. */
bool kf_store_pick_correct(kf_store *store, const char *run, int island, uint64_t random,
                           kf_store_candidate *candidate, bool *found, kf_error *error)
{
    kf_store_bucket buckets[KF_MAX_BUCKETS];
    size_t count;
    *found = false;
    if (!kf_store_histogram(store, run, island, buckets, &count, error)) return false;
    uint64_t timed = 0, all = 0;
    for (size_t i = 0; i < count; i++) {
        bool is_timed = buckets[i].bucket < KF_BUCKET_FAILED;
        if (is_timed) timed += (uint64_t)buckets[i].count;
        if (is_timed || buckets[i].bucket == KF_BUCKET_FAILED + KF_CORRECT)
            all += (uint64_t)buckets[i].count;
    }
    if (!all) return true;
    /* Multiply and shift: the choice differs from uniform by at most 2^-64 times the population. */
    uint64_t rank = (uint64_t)(((unsigned __int128)random * all) >> 64);
    if (rank < timed)
        return kf_store_pick(store, run, island, KF_BUCKET_LOW, KF_BUCKET_HIGH, rank, candidate,
                             found, error);
    int untimed = KF_BUCKET_FAILED + KF_CORRECT;
    return kf_store_pick(store, run, island, untimed, untimed, rank - timed, candidate, found,
                         error);
}
