#include "event_stream.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>

#include "kforge/buffer.h"
#include "kforge/file.h"
#include "kforge/json.h"
#include "utf8.h"

/* Links in a row that are followed. */
#define MOST_LINKS 8
/* Milliseconds without progress, and in all, after which closing gives up. */
#define CLOSE_IDLE 500
#define CLOSE_MOST 3000

/* Shared with forked processes. */
typedef struct shared {
    _Atomic uint64_t seq;
    _Atomic bool reported;
} shared;

struct kf_event_stream {
    pthread_mutex_t mutex;
    shared *shared;
    /* As given by the user. */
    char *where;
    char id[KF_EVENT_ID];
    /* -1: not open now. */
    int fd;
    /* True: `where` is a file that may be opened again. */
    bool file;
    bool socket;
    /* The reader of a descriptor has gone for good. */
    bool ended;
    /* Lines that wait, from the byte `sent` on. They belong to the process `owner`. */
    kf_buffer waiting;
    size_t sent;
    pid_t owner;
    /* What went wrong first; its code is KF_ERROR_NONE if nothing did. */
    kf_error trouble;
};

static const char *const kind_names[KF_EVENT_KIND_COUNT] = {
    [KF_EVENT_RUN_START] = "run.start", [KF_EVENT_CALL] = "call",
    [KF_EVENT_ATTEMPT] = "attempt",     [KF_EVENT_BEST] = "best",
    [KF_EVENT_VERIFY] = "verify",       [KF_EVENT_BUDGET] = "budget",
    [KF_EVENT_WORKER] = "worker",       [KF_EVENT_RUN_END] = "run.end"};

/* ---- opening --------------------------------------------------------------------------------- */

/* Replaces *path by the target of the symbolic link that it names, unless the link belongs to
 * another user. Sets errno. */
static bool follow(char **path)
{
    struct stat status;
    char target[4096];
    kf_autoclose int link = open(*path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (link < 0 || fstat(link, &status) != 0) return false;
    if (!S_ISLNK(status.st_mode) || (status.st_uid != 0 && status.st_uid != geteuid())) {
        errno = ELOOP;
        return false;
    }
    ssize_t size = readlinkat(link, "", target, sizeof target - 1);
    if (size < 0) return false;
    target[size] = '\0';
    const char *slash = strrchr(*path, '/');
    kf_autofree char *folder = slash ? strndup(*path, (size_t)(slash - *path) + 1) : strdup("");
    char *next = folder ? kf_path_join(folder, target) : NULL;
    if (!next) {
        errno = ENOMEM;
        return false;
    }
    free(*path);
    *path = next;
    return true;
}

/* Opens a file for appending. Returns -1 with errno. */
static int open_file(const char *where)
{
    kf_autofree char *path = strdup(where);
    for (int links = 0; path && links <= MOST_LINKS; links++) {
        int fd = open(
            path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
            0600);
        if (fd >= 0 || errno != ELOOP || !follow(&path)) return fd;
    }
    errno = path ? ELOOP : ENOMEM;
    return -1;
}

/* True if the file ends within a line: a process was killed there. */
static bool ends_torn(int fd)
{
    struct stat status;
    char path[40], last = '\n';
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || !status.st_size) return false;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    kf_autoclose int reader = open(path, O_RDONLY | O_CLOEXEC);
    return reader >= 0 && pread(reader, &last, 1, status.st_size - 1) == 1 && last != '\n';
}

/* Takes over an inherited descriptor. A pipe is opened once more, so that the flag O_NONBLOCK stays
 * off for the programs that share it. */
static bool take_descriptor(kf_event_stream *stream, int number, kf_error *error)
{
    struct stat status;
    char path[40];
    int flags = fcntl(number, F_GETFL), own = fcntl(number, F_GETFD);
    /* kforge's own files have FD_CLOEXEC, and an inherited descriptor can't have it. */
    if (flags < 0 || own < 0 || (own & FD_CLOEXEC) || fstat(number, &status) != 0 ||
        (flags & O_ACCMODE) == O_RDONLY)
        return kf_fail(error, KF_ERROR_INPUT,
                       "--events %s: the descriptor is not open for writing; open it as in "
                       "`kforge … --events fd:3 3>events.jsonl`",
                       stream->where);
    stream->socket = S_ISSOCK(status.st_mode);
    snprintf(path, sizeof path, "/proc/self/fd/%d", number);
    if (S_ISFIFO(status.st_mode)) stream->fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    if (stream->fd < 0) stream->fd = fcntl(number, F_DUPFD_CLOEXEC, 3);
    if (stream->fd < 0)
        return kf_fail(error, KF_ERROR_MACHINE, "--events %s: cannot use the descriptor: %s",
                       stream->where, strerror(errno));
    /* Programs that kforge starts must neither write there nor keep it open. */
    if (number > STDERR_FILENO) close(number);
    return true;
}

/* Returns the words for a failure that may pass: no reader yet, or no room. NULL: it will stay. */
static const char *passing(int code)
{
    switch (code) {
    case ENXIO:
    case EPIPE: return "the named pipe has no reader";
    case ENOSPC: return "the disk is full";
    case EDQUOT: return "the disk quota is used up";
    case EFBIG: return "the file has reached the limit of its size (ulimit -f)";
    case EAGAIN: return "the reader is too slow";
    case EIO: return "the disk fails";
    default: return NULL;
    }
}

static void note_trouble(kf_event_stream *stream, const char *what, bool for_good)
{
    if (stream->trouble.code != KF_ERROR_NONE) return;
    kf_fail(&stream->trouble, KF_ERROR_IO,
            for_good ? "--events %s: %s; the run goes on without events"
                     : "--events %s: %s; the run goes on, events that find no room are lost",
            stream->where, what);
}

static bool open_stream(kf_event_stream *stream, kf_error *error)
{
    const char *where = stream->where;
    if (strncmp(where, "fd:", 3) == 0) {
        char *end;
        errno = 0;
        long number = strtol(where + 3, &end, 10);
        if (!where[3] || *end || errno || number < 1 || number > 1000000)
            return kf_fail(error, KF_ERROR_INPUT,
                           "--events %s: expected fd:N with the number of an open descriptor, from "
                           "1; use ./%s for a file of this name",
                           where, where);
        return take_descriptor(stream, (int)number, error);
    }
    if (!*where)
        return kf_fail(error, KF_ERROR_INPUT,
                       "--events is empty: name a file, or fd:N for an open descriptor");
    stream->file = true;
    stream->fd = open_file(where);
    if (stream->fd < 0 && errno == ELOOP)
        return kf_fail(error, KF_ERROR_INPUT,
                       "--events %s: is a symbolic link of another user, or one of too many; name "
                       "the file itself",
                       where);
    if (stream->fd < 0 && !passing(errno))
        return kf_fail(error, KF_ERROR_INPUT, "--events %s: cannot write there: %s", where,
                       strerror(errno));
    if (stream->fd < 0) note_trouble(stream, passing(errno), false);
    if (stream->fd >= 0 && ends_torn(stream->fd)) kf_buffer_string(&stream->waiting, "\n");
    return true;
}

kf_event_stream *kf_event_stream_open(const char *where, kf_error *error)
{
    uint64_t chance = 0;
    kf_auto(kf_event_stream) stream = calloc(1, sizeof *stream);
    if (!stream) return kf_fail_memory(error, "--events"), NULL;
    stream->fd = -1;
    stream->owner = getpid();
    stream->waiting.limit = KF_EVENT_BACKLOG;
    pthread_mutex_init(&stream->mutex, NULL);
    stream->where = strdup(where);
    void *page =
        mmap(NULL, sizeof(shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    stream->shared = page == MAP_FAILED ? NULL : page;
    if (!stream->where || !stream->shared) return kf_fail_memory(error, "--events"), NULL;
    kf_random(&chance, sizeof chance);
    snprintf(stream->id, sizeof stream->id, "%016llx", (unsigned long long)chance);
    return open_stream(stream, error) ? kf_steal(&stream) : NULL;
}

const char *kf_event_stream_id(const kf_event_stream *stream)
{
    return stream ? stream->id : "";
}

/* ---- writing --------------------------------------------------------------------------------- */

/* Forgets the lines of the parent in a forked child. */
static void disown(kf_event_stream *stream)
{
    if (stream->owner == getpid()) return;
    stream->owner = getpid();
    kf_buffer_clear(&stream->waiting);
    stream->sent = 0;
}

static void drop_waiting(kf_event_stream *stream)
{
    kf_buffer_clear(&stream->waiting);
    stream->sent = 0;
}

/* Handles a failed write. */
static void fail_write(kf_event_stream *stream, int code)
{
    bool gone = code == EPIPE || code == ECONNRESET || code == ENOTCONN;
    if (gone) {
        note_trouble(stream, "the reader has ended", !stream->file);
        stream->ended = !stream->file;
        drop_waiting(stream);
    } else if (passing(code)) {
        /* A slow reader is no trouble until lines are lost. */
        if (code != EAGAIN) note_trouble(stream, passing(code), false);
        return;
    } else {
        note_trouble(stream, strerror(code), true);
        stream->ended = true;
    }
    close(stream->fd);
    stream->fd = -1;
}

/* Writes a part of what waits, and never blocks. Returns the number of bytes, or -1 with errno. */
static ssize_t write_some(const kf_event_stream *stream)
{
    const char *data = stream->waiting.data + stream->sent;
    size_t size = stream->waiting.size - stream->sent;
    const char *line = memchr(data, '\n', size);
    if (line) size = (size_t)(line - data) + 1;
    if (stream->socket) return send(stream->fd, data, size, MSG_DONTWAIT | MSG_NOSIGNAL);
    struct pollfd writable = {.fd = stream->fd, .events = POLLOUT};
    int ready = poll(&writable, 1, 0);
    if (ready <= 0) {
        if (ready == 0) errno = EAGAIN;
        return -1;
    }
    return write(stream->fd, data, size);
}

/* Writes what waits, as far as there is room. */
static void deliver(kf_event_stream *stream)
{
    if (stream->fd < 0 && stream->file && !stream->ended) {
        stream->fd = open_file(stream->where);
        if (stream->fd < 0) drop_waiting(stream);
    }
    while (stream->fd >= 0 && stream->sent < stream->waiting.size) {
        ssize_t done = write_some(stream);
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) {
            fail_write(stream, errno);
            return;
        }
        stream->sent += (size_t)done;
    }
    drop_waiting(stream);
}

/* Makes room for new lines by removing those that were written. */
static void compact(kf_event_stream *stream)
{
    if (!stream->sent) return;
    memmove(stream->waiting.data, stream->waiting.data + stream->sent,
            stream->waiting.size - stream->sent);
    stream->waiting.size -= stream->sent;
    stream->sent = 0;
}

static double unix_time(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (double)now.tv_sec + round((double)now.tv_nsec / 1e6) / 1e3;
}

/* Prints the line of an event, with its number. Returns false if it is too long, or without memory.
 */
static bool print_line(kf_event_kind kind, const char *run, uint64_t seq, const cJSON *fields,
                       kf_buffer *line)
{
    kf_auto(cJSON) head = cJSON_CreateObject();
    kf_event_text(head, "schema", KF_EVENT_SCHEMA);
    kf_event_number(head, "t", unix_time());
    kf_event_text(head, "run", run);
    kf_event_number(head, "seq", (double)seq);
    kf_event_text(head, "event", kind_names[kind]);
    kf_autofree char *front = head ? cJSON_PrintUnformatted(head) : NULL,
                     *rest = fields ? cJSON_PrintUnformatted(fields) : strdup("{}");
    if (!front || !rest) return false;
    kf_buffer_append(line, front, strlen(front) - 1);
    if (strcmp(rest, "{}") != 0) {
        kf_buffer_string(line, ",");
        kf_buffer_string(line, rest + 1);
    } else {
        kf_buffer_string(line, "}");
    }
    kf_buffer_string(line, "\n");
    return !line->failed && line->size <= KF_EVENT_LINE;
}

void kf_event_write(kf_event_stream *stream, kf_event_kind kind, const char *run, cJSON *fields)
{
    kf_auto(cJSON) owned = fields;
    if (!stream || (unsigned)kind >= KF_EVENT_KIND_COUNT) return;
    pthread_mutex_lock(&stream->mutex);
    disown(stream);
    uint64_t seq = atomic_fetch_add(&stream->shared->seq, 1) + 1;
    kf_autobuffer line = {0};
    if (stream->ended) {
        pthread_mutex_unlock(&stream->mutex);
        return;
    }
    if (!print_line(kind, run, seq, owned, &line)) {
        note_trouble(stream, "an event was too long, or there was no memory for it", false);
    } else {
        compact(stream);
        if (stream->waiting.size + line.size > KF_EVENT_BACKLOG)
            note_trouble(stream, passing(EAGAIN), false);
        else
            kf_buffer_append(&stream->waiting, line.data, line.size);
        if (stream->waiting.failed) {
            note_trouble(stream, "there is no memory for events", false);
            kf_buffer_free(&stream->waiting);
            stream->waiting.limit = KF_EVENT_BACKLOG;
        }
    }
    deliver(stream);
    pthread_mutex_unlock(&stream->mutex);
}

void kf_event_stream_flush(kf_event_stream *stream)
{
    if (!stream) return;
    pthread_mutex_lock(&stream->mutex);
    disown(stream);
    if (stream->waiting.size) deliver(stream);
    pthread_mutex_unlock(&stream->mutex);
}

bool kf_event_stream_trouble(kf_event_stream *stream, kf_error *why)
{
    if (!stream) return false;
    pthread_mutex_lock(&stream->mutex);
    bool first =
        stream->trouble.code != KF_ERROR_NONE && !atomic_exchange(&stream->shared->reported, true);
    if (first) *why = stream->trouble;
    pthread_mutex_unlock(&stream->mutex);
    return first;
}

void kf_event_stream_close(kf_event_stream *stream)
{
    if (!stream) return;
    if (stream->shared) disown(stream);
    double now = kf_now(), moved = now, until = now + CLOSE_MOST / 1e3;
    while (stream->fd >= 0 && stream->waiting.size && now < until &&
           now - moved < CLOSE_IDLE / 1e3) {
        size_t before = stream->waiting.size - stream->sent;
        deliver(stream);
        if (!stream->waiting.size) break;
        if (stream->waiting.size - stream->sent < before) moved = kf_now();
        poll(&(struct pollfd){.fd = stream->fd, .events = POLLOUT}, 1, 50);
        now = kf_now();
    }
    if (stream->fd >= 0) close(stream->fd);
    kf_buffer_free(&stream->waiting);
    if (stream->shared) munmap(stream->shared, sizeof(shared));
    pthread_mutex_destroy(&stream->mutex);
    free(stream->where);
    free(stream);
}

/* ---- fields ---------------------------------------------------------------------------------- */

void kf_event_text(cJSON *fields, const char *name, const char *text)
{
    char clean[KF_EVENT_TEXT + 1];
    size_t used = 0;
    const char *at = text ? text : "";
    for (size_t left = strlen(at); left;) {
        size_t length = kf_utf8_length((const unsigned char *)at, left);
        bool bad = !length || (length == 1 && ((unsigned char)*at < 0x20 || *at == 0x7f));
        if (!length) length = 1;
        if (used + length > KF_EVENT_TEXT) break;
        if (bad)
            clean[used++] = *at == '\n' || *at == '\t' ? ' ' : '?';
        else
            memcpy(clean + used, at, length), used += length;
        at += length;
        left -= length;
    }
    clean[used] = '\0';
    cJSON_AddStringToObject(fields, name, clean);
}

void kf_event_number(cJSON *fields, const char *name, double value)
{
    if (isfinite(value))
        cJSON_AddNumberToObject(fields, name, value);
    else
        cJSON_AddNullToObject(fields, name);
}

void kf_event_boolean(cJSON *fields, const char *name, bool value)
{
    cJSON_AddBoolToObject(fields, name, value);
}

void kf_event_interval(cJSON *fields, const char *name, double value, double low, double high)
{
    if (!isfinite(value)) {
        cJSON_AddNullToObject(fields, name);
        return;
    }
    const double ends[] = {value, isfinite(low) ? low : value, isfinite(high) ? high : value};
    cJSON *interval = cJSON_CreateDoubleArray(ends, 3);
    if (!cJSON_AddItemToObject(fields, name, interval)) cJSON_Delete(interval);
}

const char *kf_event_traceparent(void)
{
    static const char form[] = "xx-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx-xxxxxxxxxxxxxxxx-xx";
    const char *text = getenv("TRACEPARENT");
    if (!text || strlen(text) != sizeof form - 1) return "";
    for (size_t i = 0; form[i]; i++)
        if (form[i] == '-' ? text[i] != '-' : !strchr("0123456789abcdef", text[i])) return "";
    return text;
}

cJSON *kf_event_start_fields(const char *kind)
{
    cJSON *fields = cJSON_CreateObject();
    kf_event_text(fields, "kind", kind);
    kf_event_text(fields, "kforge", KFORGE_VERSION);
    kf_event_text(fields, "traceparent", kf_event_traceparent());
    return fields;
}

void kf_event_process_start(kf_event_stream *stream, const char *kind, const char *device)
{
    if (!stream) return;
    cJSON *fields = kf_event_start_fields(kind);
    if (device) kf_event_text(fields, "device", device);
    kf_event_write(stream, KF_EVENT_RUN_START, kf_event_stream_id(stream), fields);
}

void kf_event_process_end(kf_event_stream *stream, const kf_error *why, bool interrupted)
{
    if (!stream) return;
    cJSON *fields = cJSON_CreateObject();
    kf_event_text(fields, "end", why ? "failed" : interrupted ? "interrupted" : "finished");
    kf_event_text(fields, "reason", why ? why->text : "");
    kf_event_write(stream, KF_EVENT_RUN_END, kf_event_stream_id(stream), fields);
}
