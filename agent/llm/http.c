/* curl_multi_socket_action over epoll. curl says which sockets to watch and when its next timer is
 * due. The ready sockets go back to curl. curl has no option for the limits on the first byte and
 * on a stall, so this file keeps those deadlines. `next_check` is a time before which no deadline
 * can have passed, so a busy loop does not look at all transfers each time.
 *
 * curl's callbacks only note what happened. Handlers that may start or end transfers (`done`) run
 * outside them. */
#include "http.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "curl_library.h"
#include "kforge/file.h"

#define MAX_EVENTS 64
#define RECEIVE_BYTES 16384L

struct kf_http_transfer {
    kf_http_transfer *next, **previous;
    kf_http *http;
    /* Its borrowed pointers are not used after the start. */
    kf_http_request request;
    CURL *easy;
    struct curl_slist *headers;
    char *body;
    /* last: the time of the last byte. */
    double started, first, last;
    uint64_t bytes;
    /* A fault that kforge found, not curl. */
    kf_http_fault fault;
    /* errno of epoll_ctl; 0: its sockets are watched. */
    int unwatched;
    char why[CURL_ERROR_SIZE];
    char location[200];
    bool answering;
};

struct kf_http {
    const kf_curl_library *curl;
    CURLM *multi;
    int epoll;
    /* When curl wants to be called. INFINITY: never. */
    double timer;
    /* Of the deadlines of this file. */
    double next_check;
    kf_http_transfer *transfers;
    size_t in_flight;
};

/* ---- addresses ------------------------------------------------------------------------------- */

static bool is_loopback(const char *host)
{
    unsigned char address[16];
    char bare[64];
    size_t length = strlen(host);
    if (strcasecmp(host, "localhost") == 0) return true;
    if (inet_pton(AF_INET, host, address) == 1) return address[0] == 127;
    if (length < 3 || length >= sizeof bare || host[0] != '[') return false;
    memcpy(bare, host + 1, length - 2);
    bare[length - 2] = '\0';
    static const unsigned char one[16] = {[15] = 1};
    return inet_pton(AF_INET6, bare, address) == 1 && memcmp(address, one, 16) == 0;
}

typedef struct url_parts {
    char *scheme, *host;
    bool has_user, plain, loopback;
} url_parts;

/* Splits a URL. curl does it, so kforge checks the address that curl connects to. */
static bool split_url(const kf_curl_library *curl, const char *url, url_parts *parts,
                      kf_error *error)
{
    char *scheme = NULL, *host = NULL, *user = NULL;
    CURLU *parser = curl->url();
    CURLUcode code = parser ? curl->url_set(parser, CURLUPART_URL, url, 0) : CURLUE_OUT_OF_MEMORY;
    if (code == CURLUE_OK) code = curl->url_get(parser, CURLUPART_SCHEME, &scheme, 0);
    if (code == CURLUE_OK) code = curl->url_get(parser, CURLUPART_HOST, &host, 0);
    if (code == CURLUE_OK) {
        parts->has_user = curl->url_get(parser, CURLUPART_USER, &user, 0) == CURLUE_OK;
        parts->plain = strcmp(scheme, "http") == 0;
        parts->loopback = is_loopback(host);
        if (!parts->plain && strcmp(scheme, "https") != 0) code = CURLUE_UNSUPPORTED_SCHEME;
    }
    curl->free(scheme);
    curl->free(host);
    curl->free(user);
    curl->url_cleanup(parser);
    return code == CURLUE_OK || kf_fail(error, KF_ERROR_INPUT,
                                        "\"%.200s\" is no address of a server; expected "
                                        "https://HOST/PATH, or http:// on this machine",
                                        url);
}

bool kf_http_check_url(const char *url, bool allow_plain, kf_error *error)
{
    url_parts parts;
    const kf_curl_library *curl = kf_curl_load(error);
    if (!curl || !split_url(curl, url, &parts, error)) return false;
    if (parts.has_user)
        return kf_fail(error, KF_ERROR_INPUT,
                       "an address must not hold a user or password; keys come from the "
                       "environment, .env or a key file");
    if (parts.plain && !parts.loopback && !allow_plain)
        return kf_fail(error, KF_ERROR_INPUT,
                       "\"%.200s\": plain http to another machine would show prompts and key to "
                       "the network; use https, or set "
                       "KFORGE_PLAIN_HTTP=1 if that is meant",
                       url);
    return true;
}

/* ---- callbacks of curl ----------------------------------------------------------------------- */

/* Notes that no reply can be seen on a socket of `easy`. check_deadlines ends the transfer. */
static void note_unwatched(kf_http *http, CURL *easy, int why)
{
    kf_http_transfer *own = NULL;
    http->curl->easy_getinfo(easy, CURLINFO_PRIVATE, &own);
    for (kf_http_transfer *t = http->transfers; t; t = t->next)
        if (!own || t == own) t->unwatched = why;
    http->next_check = 0;
}

static int watch_socket(CURL *easy, curl_socket_t fd, int what, void *context, void *known)
{
    kf_http *http = context;
    if (what == CURL_POLL_REMOVE) {
        /* The socket may be closed already. */
        epoll_ctl(http->epoll, EPOLL_CTL_DEL, fd, NULL);
        return 0;
    }
    struct epoll_event event = {.data.fd = fd};
    if (what & CURL_POLL_IN) event.events |= EPOLLIN;
    if (what & CURL_POLL_OUT) event.events |= EPOLLOUT;
    (void)known;
    if (epoll_ctl(http->epoll, EPOLL_CTL_MOD, fd, &event) != 0 &&
        (errno != ENOENT || epoll_ctl(http->epoll, EPOLL_CTL_ADD, fd, &event) != 0))
        note_unwatched(http, easy, errno);
    return 0;
}

static int set_timer(CURLM *multi, long milliseconds, void *context)
{
    (void)multi;
    kf_http *http = context;
    http->timer = milliseconds < 0 ? INFINITY : kf_now() + (double)milliseconds * 1e-3;
    return 0;
}

static void note_time(kf_http_transfer *t)
{
    t->last = kf_now();
}

static size_t take_header(char *line, size_t size, size_t count, void *context)
{
    kf_http_transfer *t = context;
    size_t length = size * count;
    const char *colon = memchr(line, ':', length);
    note_time(t);
    if (!colon) return length;
    char name[128], value[512];
    size_t name_length = (size_t)(colon - line), start = name_length + 1;
    while (start < length && (line[start] == ' ' || line[start] == '\t')) start++;
    size_t end = length;
    while (end > start && isspace((unsigned char)line[end - 1])) end--;
    if (name_length >= sizeof name) return length;
    for (size_t i = 0; i < name_length; i++) name[i] = (char)tolower((unsigned char)line[i]);
    name[name_length] = '\0';
    size_t value_length = end - start < sizeof value ? end - start : sizeof value - 1;
    memcpy(value, line + start, value_length);
    value[value_length] = '\0';
    if (strcmp(name, "location") == 0) {
        /* The rest may hold secrets. */
        size_t kept = strcspn(value, "?#");
        if (kept >= sizeof t->location) kept = sizeof t->location - 1;
        memcpy(t->location, value, kept);
        t->location[kept] = '\0';
    }
    if (t->request.header) t->request.header(t->request.context, name, value);
    return length;
}

static size_t take_data(char *data, size_t size, size_t count, void *context)
{
    kf_http_transfer *t = context;
    size_t length = size * count;
    note_time(t);
    if (isnan(t->first)) t->first = t->last - t->started;
    t->bytes += length;
    if (t->bytes > t->request.most_bytes)
        t->fault = KF_HTTP_TOO_LARGE;
    else if (!t->request.data(t->request.context, data, length))
        t->fault = KF_HTTP_STOPPED;
    /* Any other value ends the transfer. */
    return t->fault ? 0 : length;
}

/* ---- start and end --------------------------------------------------------------------------- */

kf_http *kf_http_new(kf_error *error)
{
    const kf_curl_library *curl = kf_curl_load(error);
    if (!curl) return NULL;
    kf_auto(kf_http) http = calloc(1, sizeof *http);
    if (http) {
        *http = (kf_http){.curl = curl,
                          .epoll = epoll_create1(EPOLL_CLOEXEC),
                          .timer = INFINITY,
                          .next_check = INFINITY};
        http->multi = curl->multi_init();
    }
    if (!http || !http->multi || http->epoll < 0) {
        kf_fail(error, KF_ERROR_MACHINE, "no memory or no descriptor for connections to models");
        return NULL;
    }
    curl->multi_setopt(http->multi, CURLMOPT_SOCKETFUNCTION, watch_socket);
    curl->multi_setopt(http->multi, CURLMOPT_SOCKETDATA, http);
    curl->multi_setopt(http->multi, CURLMOPT_TIMERFUNCTION, set_timer);
    curl->multi_setopt(http->multi, CURLMOPT_TIMERDATA, http);
    return kf_steal(&http);
}

static void drop(kf_http *http, kf_http_transfer *t)
{
    *t->previous = t->next;
    if (t->next) t->next->previous = t->previous;
    http->in_flight--;
    http->curl->multi_remove_handle(http->multi, t->easy);
    http->curl->easy_cleanup(t->easy);
    http->curl->slist_free_all(t->headers);
    if (t->body) explicit_bzero(t->body, 1);
    free(t->body);
    free(t);
}

void kf_http_cancel(kf_http *http, kf_http_transfer *transfer)
{
    drop(http, transfer);
}

void kf_http_free(kf_http *http)
{
    if (!http) return;
    while (http->transfers) drop(http, http->transfers);
    if (http->multi) http->curl->multi_cleanup(http->multi);
    if (http->epoll >= 0) close(http->epoll);
    free(http);
}

static double value_or(double given, double fallback)
{
    return given > 0 ? given : fallback;
}

static const char *certificates(void)
{
    static const char *const names[] = {"KFORGE_CA_FILE", "SSL_CERT_FILE", "CURL_CA_BUNDLE"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *path = getenv(names[i]);
        if (path && *path) return path;
    }
    return NULL;
}

static void set_options(const kf_curl_library *curl, kf_http_transfer *t, bool loopback)
{
    CURL *easy = t->easy;
    const kf_http_request *r = &t->request;
    curl->easy_setopt(easy, CURLOPT_URL, r->url);
    curl->easy_setopt(easy, CURLOPT_HTTPHEADER, t->headers);
    if (t->body) {
        curl->easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)r->body_size);
        curl->easy_setopt(easy, CURLOPT_POSTFIELDS, t->body);
    }
#if LIBCURL_VERSION_NUM >= 0x075500
    curl->easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
#else
    curl->easy_setopt(easy, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
    curl->easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    /* One connection for each request: a stalled request must not delay others, as streams on one
     * connection would. */
    curl->easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    /* Compression is accepted but not requested (a request header says so): proxies hold streams
     * back to compress them. */
    curl->easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, "gzip");
    curl->easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)(r->connect_seconds * 1000));
    curl->easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)(r->total_seconds * 1000));
    curl->easy_setopt(easy, CURLOPT_BUFFERSIZE, RECEIVE_BYTES);
    curl->easy_setopt(easy, CURLOPT_UPLOAD_BUFFERSIZE, RECEIVE_BYTES);
    curl->easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    curl->easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl->easy_setopt(easy, CURLOPT_ERRORBUFFER, t->why);
    curl->easy_setopt(easy, CURLOPT_PRIVATE, t);
    curl->easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_data);
    curl->easy_setopt(easy, CURLOPT_WRITEDATA, t);
    curl->easy_setopt(easy, CURLOPT_HEADERFUNCTION, take_header);
    curl->easy_setopt(easy, CURLOPT_HEADERDATA, t);
    curl->easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    if (loopback) curl->easy_setopt(easy, CURLOPT_NOPROXY, "*");
    if (certificates()) curl->easy_setopt(easy, CURLOPT_CAINFO, certificates());
}

static bool copy_headers(const kf_curl_library *curl, kf_http_transfer *t,
                         const char *const *headers)
{
    static const char *const own[] = {"Accept-Encoding: identity", "Expect:", NULL};
    const char *const *const lists[] = {own, headers};
    for (int i = 0; i < 2; i++)
        for (const char *const *line = lists[i]; line && *line; line++) {
            struct curl_slist *longer = curl->slist_append(t->headers, *line);
            if (!longer) return false;
            t->headers = longer;
        }
    return true;
}

/* Returns the longest silence that is allowed now. */
static double longest_silence(const kf_http_transfer *t)
{
    return t->answering ? t->request.stall_seconds : t->request.first_byte_seconds;
}

/* Returns when the transfer's limits pass, given the bytes so far. */
static double deadline_of(const kf_http_transfer *t)
{
    return (isnan(t->first) ? t->started : t->last) + longest_silence(t);
}

void kf_http_answering(kf_http_transfer *t)
{
    if (t->answering) return;
    t->answering = true;
    /* It is sooner than before. */
    t->http->next_check = fmin(t->http->next_check, deadline_of(t));
}

kf_http_transfer *kf_http_start(kf_http *http, const kf_http_request *request, kf_error *error)
{
    const kf_curl_library *curl = http->curl;
    url_parts parts = {0};
    if (!split_url(curl, request->url, &parts, error)) return NULL;
    kf_http_transfer *t = calloc(1, sizeof *t);
    if (!t) goto no_memory;
    double now = kf_now();
    *t = (kf_http_transfer){.http = http,
                            .request = *request,
                            .started = now,
                            .last = now,
                            .first = NAN,
                            .easy = curl->easy_init()};
    kf_http_request *r = &t->request;
    r->connect_seconds = value_or(r->connect_seconds, 15);
    r->first_byte_seconds = value_or(r->first_byte_seconds, 600);
    r->stall_seconds = value_or(r->stall_seconds, 120);
    r->total_seconds = value_or(r->total_seconds, 1800);
    if (!r->most_bytes) r->most_bytes = 64u << 20;
    if (request->body) t->body = malloc(request->body_size + 1);
    if (!t->easy || (request->body && !t->body) || !copy_headers(curl, t, request->headers))
        goto no_memory;
    if (t->body) memcpy(t->body, request->body, request->body_size);
    set_options(curl, t, parts.loopback);
    if (curl->multi_add_handle(http->multi, t->easy) != CURLM_OK) goto no_memory;
    t->next = http->transfers;
    t->previous = &http->transfers;
    if (t->next) t->next->previous = &t->next;
    http->transfers = t;
    http->in_flight++;
    http->next_check = fmin(http->next_check, now + fmin(r->first_byte_seconds, r->stall_seconds));
    return t;
no_memory:
    if (t) {
        if (t->easy) curl->easy_cleanup(t->easy);
        curl->slist_free_all(t->headers);
        free(t->body);
        free(t);
    }
    kf_fail_memory(error, "a request");
    return NULL;
}

int kf_http_status(const kf_http *http, const kf_http_transfer *transfer)
{
    long status = 0;
    http->curl->easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &status);
    return (int)status;
}

/* ---- results --------------------------------------------------------------------------------- */

static kf_http_fault fault_of(CURLcode code, const kf_http_transfer *t, bool was_sent)
{
    switch (code) {
    case CURLE_OK: return KF_HTTP_NO_FAULT;
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_CONNECT:
    case CURLE_PROXY: return KF_HTTP_CONNECT;
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_INVALIDCERTSTATUS: return KF_HTTP_TLS;
    case CURLE_OPERATION_TIMEDOUT:
        return !was_sent && kf_now() - t->started < t->request.total_seconds ? KF_HTTP_CONNECT
                                                                             : KF_HTTP_TOTAL;
    case CURLE_PARTIAL_FILE:
    case CURLE_GOT_NOTHING:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR: return KF_HTTP_CLOSED;
    default: return KF_HTTP_OTHER;
    }
}

static void describe_fault(kf_http_result *result, const kf_http_transfer *t, const char *curl_says)
{
    const kf_http_request *r = &t->request;
    kf_error *error = &result->error;
    switch (result->fault) {
    case KF_HTTP_NO_FAULT: break;
    case KF_HTTP_CONNECT: kf_fail(error, KF_ERROR_IO, "no connection: %s", curl_says); break;
    case KF_HTTP_TLS:
        kf_fail(error, KF_ERROR_MACHINE,
                "the server's certificate is not accepted: %s; KFORGE_CA_FILE names further "
                "authorities",
                curl_says);
        break;
    case KF_HTTP_FIRST_BYTE:
        kf_fail(error, KF_ERROR_LIMIT, "no reply within %g s", r->first_byte_seconds);
        break;
    case KF_HTTP_STALL:
        kf_fail(error, KF_ERROR_LIMIT, "the reply stalled: nothing for %g s after %llu bytes",
                longest_silence(t), (unsigned long long)t->bytes);
        break;
    case KF_HTTP_TOTAL:
        kf_fail(error, KF_ERROR_LIMIT, "the reply took longer than %g s", r->total_seconds);
        break;
    case KF_HTTP_CLOSED:
        kf_fail(error, KF_ERROR_IO, "the connection was closed after %llu bytes of the reply: %s",
                (unsigned long long)t->bytes, curl_says);
        break;
    case KF_HTTP_TOO_LARGE:
        kf_fail(error, KF_ERROR_LIMIT, "the reply has more than %zu bytes", r->most_bytes);
        break;
    case KF_HTTP_REDIRECT:
        kf_fail(error, KF_ERROR_INPUT,
                "the server redirects to %s (status %d), and kforge sends no key there; give that "
                "address instead",
                *t->location ? t->location : "elsewhere", result->status);
        break;
    case KF_HTTP_STOPPED: kf_fail(error, KF_ERROR_LIMIT, "stopped"); break;
    case KF_HTTP_OTHER: kf_fail(error, KF_ERROR_IO, "the request failed: %s", curl_says); break;
    }
}

/* Calls the handler with the result. The transfer ends before the call. */
static void finish(kf_http *http, kf_http_transfer *t, CURLcode code)
{
    const kf_curl_library *curl = http->curl;
    long status = 0, sent = 0;
    curl->easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
    curl->easy_getinfo(t->easy, CURLINFO_REQUEST_SIZE, &sent);
    kf_http_result result = {.status = (int)status, .was_sent = sent > 0 || status > 0};
    result.fault = t->fault ? t->fault : fault_of(code, t, result.was_sent);
    if (!result.fault && status >= 300 && status < 400) result.fault = KF_HTTP_REDIRECT;
    describe_fault(&result, t, t->why[0] ? t->why : curl->easy_strerror(code));
    void (*done)(void *, const kf_http_result *) = t->request.done;
    void *context = t->request.context;
    drop(http, t);
    done(context, &result);
}

static void read_messages(kf_http *http)
{
    int left;
    for (CURLMsg *message; (message = http->curl->multi_info_read(http->multi, &left));) {
        if (message->msg != CURLMSG_DONE) continue;
        kf_http_transfer *t = NULL;
        CURLcode code = message->data.result;
        http->curl->easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &t);
        /* May end other transfers; their messages go with them. */
        finish(http, t, code);
    }
}

/* Ends the transfers over a limit, and those that epoll does not watch. A handler may end any of
 * them, so each search starts anew. */
static void check_deadlines(kf_http *http)
{
    for (;;) {
        double now = kf_now(), next = INFINITY;
        if (now < http->next_check) return;
        kf_http_transfer *late = NULL;
        for (kf_http_transfer *t = http->transfers; t && !late; t = t->next) {
            double deadline = t->unwatched ? 0 : deadline_of(t);
            if (deadline <= now) late = t;
            next = fmin(next, deadline);
        }
        if (!late) {
            http->next_check = fmax(next, now + 0.001);
            return;
        }
        late->fault = late->unwatched      ? KF_HTTP_OTHER
                      : isnan(late->first) ? KF_HTTP_FIRST_BYTE
                                           : KF_HTTP_STALL;
        if (late->unwatched)
            snprintf(late->why, sizeof late->why,
                     "the system does not watch its connection (epoll_ctl: %s); close programs "
                     "with many connections, or raise fs.epoll.max_user_watches",
                     strerror(late->unwatched));
        finish(http, late, CURLE_OPERATION_TIMEDOUT);
    }
}

int kf_http_watch(const kf_http *http, double *wake)
{
    if (http->in_flight) *wake = fmin(*wake, fmin(http->timer, http->next_check));
    return http->epoll;
}

bool kf_http_step(kf_http *http, double seconds)
{
    double until = kf_now() + (seconds > 0 ? seconds : 0), wake = until;
    kf_http_watch(http, &wake);
    double left = wake - kf_now();
    struct epoll_event events[MAX_EVENTS];
    int running, count = epoll_wait(http->epoll, events, MAX_EVENTS,
                                    left > 0 ? (int)fmin(ceil(left * 1000), 1e6) : 0);
    bool interrupted = count < 0 && errno == EINTR;
    for (int i = 0; i < count; i++) {
        int what = 0;
        if (events[i].events & EPOLLIN) what |= CURL_CSELECT_IN;
        if (events[i].events & EPOLLOUT) what |= CURL_CSELECT_OUT;
        if (events[i].events & (EPOLLERR | EPOLLHUP)) what |= CURL_CSELECT_ERR;
        http->curl->multi_socket_action(http->multi, events[i].data.fd, what, &running);
    }
    if (kf_now() >= http->timer) {
        /* curl sets the next one. */
        http->timer = INFINITY;
        http->curl->multi_socket_action(http->multi, CURL_SOCKET_TIMEOUT, 0, &running);
    }
    read_messages(http);
    check_deadlines(http);
    return !interrupted;
}
