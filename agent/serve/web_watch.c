/* Watches exchanges that wait. MHD does not look at a suspended connection, so this thread sees
 * that a client has gone, and wakes exchanges at their time. */
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "web_internal.h"
#include "kforge/file.h"

#define EVENTS 64

static int socket_of(const kf_exchange *exchange)
{
    const union MHD_ConnectionInfo *info = exchange->http->mhd->get_connection_info(
        exchange->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info ? info->connect_fd : -1;
}

static void wake_thread(const kf_web *http)
{
    uint64_t one = 1;
    ssize_t written = write(http->watch.wake, &one, sizeof one);
    (void)written;
}

void kf_web_suspend(kf_exchange *exchange, double wake_at)
{
    kf_web *http = exchange->http;
    struct epoll_event event = {.events = EPOLLRDHUP, .data.ptr = exchange};
    exchange->wake_at = wake_at;
    exchange->is_suspended = true;
    exchange->previous = NULL;
    exchange->next = http->watch.first;
    if (exchange->next) exchange->next->previous = exchange;
    http->watch.first = exchange;
    exchange->http->mhd->suspend_connection(exchange->connection);
    epoll_ctl(http->watch.epoll, EPOLL_CTL_ADD, socket_of(exchange), &event);
    if (isfinite(wake_at)) wake_thread(http);
}

void kf_web_resume(kf_exchange *exchange)
{
    kf_web *http = exchange->http;
    exchange->is_woken = true;
    if (!exchange->is_suspended) return;
    exchange->is_suspended = false;
    *(exchange->previous ? &exchange->previous->next : &http->watch.first) = exchange->next;
    if (exchange->next) exchange->next->previous = exchange->previous;
    epoll_ctl(http->watch.epoll, EPOLL_CTL_DEL, socket_of(exchange), NULL);
    exchange->http->mhd->resume_connection(exchange->connection);
}

/* Resumes exchanges past their time. Returns the milliseconds until the next one; -1: none. */
static int wake_due(kf_web *http)
{
    double now = kf_now(), next = INFINITY;
    for (kf_exchange *e = http->watch.first, *after; e; e = after) {
        after = e->next;
        if (e->wake_at <= now)
            kf_web_resume(e);
        else
            next = fmin(next, e->wake_at);
    }
    return isinf(next) ? -1 : (int)fmin(ceil((next - now) * 1000), 60000);
}

/* True if the exchange still waits and its client has closed the connection. The event may be older
 * than the exchange at this address. */
static bool has_left(const kf_web *http, const kf_exchange *exchange)
{
    const kf_exchange *e = http->watch.first;
    while (e && e != exchange) e = e->next;
    struct pollfd fd = {.fd = e ? socket_of(e) : -1, .events = POLLRDHUP};
    return e && poll(&fd, 1, 0) == 1 && (fd.revents & (POLLRDHUP | POLLHUP | POLLERR));
}

static void *run_watch(void *argument)
{
    kf_web *http = argument;
    struct epoll_event events[EVENTS];
    for (;;) {
        pthread_mutex_lock(&http->lock);
        bool closing = http->watch.is_closing;
        int milliseconds = wake_due(http);
        pthread_mutex_unlock(&http->lock);
        if (closing) return NULL;
        int count = epoll_wait(http->watch.epoll, events, EVENTS, milliseconds);
        pthread_mutex_lock(&http->lock);
        for (int i = 0; i < count; i++) {
            kf_exchange *exchange = events[i].data.ptr;
            uint64_t drained;
            if (!exchange) {
                while (read(http->watch.wake, &drained, sizeof drained) > 0) continue;
            } else if (has_left(http, exchange)) {
                exchange->is_gone = true;
                kf_web_resume(exchange);
            }
        }
        pthread_mutex_unlock(&http->lock);
    }
}

bool kf_web_watch_start(kf_web *http, kf_error *error)
{
    kf_web_watch *watch = &http->watch;
    struct epoll_event event = {.events = EPOLLIN};
    watch->epoll = epoll_create1(EPOLL_CLOEXEC);
    watch->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (watch->epoll < 0 || watch->wake < 0 ||
        epoll_ctl(watch->epoll, EPOLL_CTL_ADD, watch->wake, &event) < 0)
        return kf_fail(error, KF_ERROR_MACHINE, "no event descriptor: %s", strerror(errno));
    int failed = pthread_create(&watch->thread, NULL, run_watch, http);
    watch->is_running = !failed;
    return !failed || kf_fail(error, KF_ERROR_MACHINE, "no thread: %s", strerror(failed));
}

void kf_web_watch_end(kf_web *http)
{
    kf_web_watch *watch = &http->watch;
    if (watch->is_running) {
        pthread_mutex_lock(&http->lock);
        watch->is_closing = true;
        while (watch->first) {
            watch->first->is_gone = true;
            kf_web_resume(watch->first);
        }
        pthread_mutex_unlock(&http->lock);
        wake_thread(http);
        pthread_join(watch->thread, NULL);
    }
    if (watch->epoll >= 0) close(watch->epoll);
    if (watch->wake >= 0) close(watch->wake);
}
