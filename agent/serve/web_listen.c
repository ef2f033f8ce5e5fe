/* Sockets to listen on: TCP addresses and unix sockets. */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "web_internal.h"

#define UNIX_PREFIX "unix:"
#define BACKLOG 512

/* Splits "HOST:PORT" and "[HOST]:PORT". */
static bool split(const char *text, char host[64], char port[16], kf_error *error)
{
    const char *colon = strrchr(text, ':');
    size_t length = colon ? (size_t)(colon - text) : 0;
    const char *from = text;
    if (length > 1 && text[0] == '[' && text[length - 1] == ']') from++, length -= 2;
    char *end;
    unsigned long number = colon ? strtoul(colon + 1, &end, 10) : 0;
    if (!colon || !length || length >= 64 || !colon[1] || *end || number > 65535)
        return kf_fail(error, KF_ERROR_INPUT,
                       "--listen \"%s\": expected ADDRESS:PORT, as 127.0.0.1:8642, or unix:PATH",
                       text);
    snprintf(host, 64, "%.*s", (int)length, from);
    snprintf(port, 16, "%lu", number);
    return true;
}

bool kf_web_is_local(const char *text)
{
    char host[64], port[16];
    struct in_addr address;
    if (strncmp(text, UNIX_PREFIX, strlen(UNIX_PREFIX)) == 0) return true;
    if (!split(text, host, port, NULL)) return false;
    if (inet_pton(AF_INET, host, &address) == 1) return (ntohl(address.s_addr) >> 24) == 127;
    return strcmp(host, "localhost") == 0 || strcmp(host, "::1") == 0;
}

/* True for the path of a unix socket. */
static bool is_path(const char *path, kf_error *error)
{
    size_t most = sizeof(((struct sockaddr_un *)0)->sun_path) - 1;
    return (*path && strlen(path) <= most) ||
           kf_fail(error, KF_ERROR_INPUT,
                   "--listen \"unix:%s\": expected a path of at most %zu bytes", path, most);
}

bool kf_web_is_address(const char *text, kf_error *error)
{
    char host[64], port[16];
    return strncmp(text, UNIX_PREFIX, strlen(UNIX_PREFIX)) == 0
               ? is_path(text + strlen(UNIX_PREFIX), error)
               : split(text, host, port, error);
}

static void set_address(kf_web_listener *listener)
{
    struct sockaddr_storage own;
    socklen_t size = sizeof own;
    char host[64] = "", port[16] = "";
    getsockname(listener->socket, (struct sockaddr *)&own, &size);
    getnameinfo((struct sockaddr *)&own, size, host, sizeof host, port, sizeof port,
                NI_NUMERICHOST | NI_NUMERICSERV);
    snprintf(listener->address, sizeof listener->address,
             strchr(host, ':') ? "http://[%s]:%s" : "http://%s:%s", host, port);
}

static bool listen_tcp(kf_web_listener *listener, const char *text, kf_error *error)
{
    char host[64], port[16];
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE}, *list = NULL;
    if (!split(text, host, port, error)) return false;
    int failed =
        getaddrinfo(strcmp(host, "localhost") == 0 ? "127.0.0.1" : host, port, &hints, &list);
    if (failed)
        return kf_fail(error, KF_ERROR_INPUT, "--listen \"%s\": no such address: %s", text,
                       gai_strerror(failed));
    listener->socket = socket(list->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int one = 1;
    bool open = listener->socket >= 0 &&
                setsockopt(listener->socket, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) == 0 &&
                bind(listener->socket, list->ai_addr, list->ai_addrlen) == 0 &&
                listen(listener->socket, BACKLOG) == 0;
    int number = errno;
    freeaddrinfo(list);
    if (!open)
        return kf_fail(error, number == EADDRINUSE ? KF_ERROR_BUSY : KF_ERROR_INPUT,
                       "--listen \"%s\": cannot listen: %s%s", text, strerror(number),
                       number == EADDRINUSE ? "; choose another port, or 0 for any" : "");
    set_address(listener);
    return true;
}

/* Removes a socket on which no process listens any more. */
static void remove_stale(const struct sockaddr_un *address)
{
    struct stat status;
    if (lstat(address->sun_path, &status) || !S_ISSOCK(status.st_mode)) return;
    int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (probe < 0) return;
    if (connect(probe, (const struct sockaddr *)address, sizeof *address) < 0 &&
        errno == ECONNREFUSED)
        unlink(address->sun_path);
    close(probe);
}

static bool listen_unix(kf_web_listener *listener, const char *path, kf_error *error)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (!is_path(path, error)) return false;
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    remove_stale(&address);
    listener->is_unix = true;
    listener->socket = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    /* The user's alone, from the first moment. */
    mode_t before = umask(0177);
    bool bound = listener->socket >= 0 &&
                 bind(listener->socket, (struct sockaddr *)&address, sizeof address) == 0;
    int number = errno;
    umask(before);
    if (bound) snprintf(listener->path, sizeof listener->path, "%s", path);
    if (bound && listen(listener->socket, BACKLOG) == 0) {
        snprintf(listener->address, sizeof listener->address, "unix:%s", path);
        return true;
    }
    if (bound) number = errno;
    return kf_fail(
        error, KF_ERROR_INPUT, "--listen \"unix:%s\": cannot listen: %s%s", path, strerror(number),
        number == EADDRINUSE ? "; another server uses it, or the path is no socket" : "");
}

bool kf_web_listen(kf_web_listener *listener, const char *text, kf_error *error)
{
    listener->socket = -1;
    bool is_unix = strncmp(text, UNIX_PREFIX, strlen(UNIX_PREFIX)) == 0;
    return is_unix ? listen_unix(listener, text + strlen(UNIX_PREFIX), error)
                   : listen_tcp(listener, text, error);
}

void kf_web_unlisten(kf_web_listener *listener)
{
    if (listener->socket >= 0) close(listener->socket);
    if (*listener->path) unlink(listener->path);
    listener->socket = -1;
}
