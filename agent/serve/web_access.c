/* Decides if a request may pass. A token proves the client. Without a token the server listens on
 * this machine alone, and only web pages are a danger: a browser sends their requests, too. Such a
 * request has an Origin of another site, or a Host that is not this machine. */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "web_internal.h"
#include "kforge/hash.h"

#define BEARER "Bearer "

/* Compares in a time that does not depend on the texts. */
static bool is_equal(const char *given, const char *wanted)
{
    kf_hash a = kf_hash_bytes(given, strlen(given)), b = kf_hash_bytes(wanted, strlen(wanted));
    unsigned difference = 0;
    for (size_t i = 0; i < sizeof a.bytes; i++) difference |= a.bytes[i] ^ b.bytes[i];
    return difference == 0;
}

static bool has_token(const kf_exchange *exchange, const char *token)
{
    const char *given = kf_exchange_header(exchange, "Authorization");
    return given && strncasecmp(given, BEARER, strlen(BEARER)) == 0 &&
           is_equal(given + strlen(BEARER), token);
}

/* True for "localhost", "127.0.0.1:8642" and "[::1]:8642", but not for "127.0.0.1.evil.example". */
static bool is_this_machine(const char *host)
{
    char name[64];
    struct in_addr address;
    size_t length = *host == '[' ? strcspn(host, "]") + 1 : strcspn(host, ":");
    if (length >= sizeof name || (host[length] && host[length] != ':')) return false;
    snprintf(name, sizeof name, "%.*s", (int)length, host);
    if (inet_pton(AF_INET, name, &address) == 1) return (ntohl(address.s_addr) >> 24) == 127;
    return strcasecmp(name, "localhost") == 0 || strcmp(name, "[::1]") == 0;
}

static bool is_foreign_page(const kf_exchange *exchange)
{
    const char *origin = kf_exchange_header(exchange, "Origin"),
               *host = kf_exchange_header(exchange, "Host");
    const char *site = origin ? strstr(origin, "://") : NULL;
    if (origin && !(site && is_this_machine(site + 3))) return true;
    return !exchange->listener->is_unix && host && !is_this_machine(host);
}

bool kf_web_guard(kf_exchange *exchange)
{
    const char *token = exchange->http->options->token;
    /* Load balancers have no token. */
    bool is_health = strcmp(exchange->path, "/health") == 0;
    if (token && !is_health && !has_token(exchange, token)) {
        kf_exchange_add_header(exchange, "WWW-Authenticate", "Bearer");
        kf_exchange_error(exchange, 401, "the token is missing or wrong", "header Authorization",
                          "Send \"Authorization: Bearer TOKEN\" with the server's token.");
        return false;
    }
    if (!token && is_foreign_page(exchange)) {
        kf_exchange_error(exchange, 403, "the request comes from a web page of another site",
                          "headers Origin and Host",
                          "Use the address 127.0.0.1, or start the server with --token.");
        return false;
    }
    return true;
}
