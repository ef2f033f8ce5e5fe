/* Scrubbing text: makes it valid UTF-8, removes secrets and paths, and escapes it for JSON. One
 * pass does all, since a store holds gigabytes of text.
 *
 *   keys    Text that begins like a key (prefixes below, "Bearer …", JSON Web Tokens) and has at
 *           least 16 more letters and digits. Also values of at least 8 characters of environment
 *           variables that end in KEY, TOKEN, SECRET or PASSWORD, and user:password of a URL. They
 *           become [key].
 *   homes   /home/NAME, /Users/NAME and $HOME become /home/user. /root stays.
 *   hosts   The value of "host" in verdicts becomes "".
 *   paths   In logs only (`paths`): /a/b/file becomes [path]/file, except for system folders.
 *
 * A position is examined only if its two bytes begin a pattern, or if the first is not plain ASCII.
 * All other text is copied in runs. */
#include <ctype.h>
#include <string.h>

#include "export_internal.h"

#define SECRETS 64
#define MIN_KEY 16

#define PIECE 4096 /* bytes of text for which the buffer gets room at a time */
/* room for each: \u001f for a control character; no replacement is longer */
#define LONGEST 6
#define SLACK 32 /* and a sequence that goes on beyond the piece */

typedef struct literal {
    const char *text;
    size_t size;
} literal;

struct kf_scrubber {
    unsigned char pairs[65536 / 8]; /* that begin a pattern, a bit each */
    /* these, and all pairs with a first byte that needs escaping or is not ASCII */
    unsigned char stops[65536 / 8];
    literal secrets[SECRETS]; /* borrowed from the environment */
    size_t secret_count;
    literal home;
    bool keys_only;
};

static const char *const key_prefixes[] = {
    "sk-",         "sk_",    "hf_",    "ghp_", "gho_",  "ghu_", "ghs_",  "ghr_",
    "github_pat_", "glpat-", "gsk_",   "AIza", "AKIA",  "ASIA", "xoxb-", "xoxp-",
    "xapp-",       "xai-",   "nvapi-", "r8_",  "pplx-", "eyJ",
};
static const char *const homes[] = {"/home/", "/Users/"};
static const char *const system_folders[] = {"/usr/", "/opt/",  "/lib/", "/lib64/", "/bin/",
                                             "/etc/", "/proc/", "/sys/", "/dev/"};
#define COUNT(table) (sizeof(table) / sizeof *(table))

static void add_pair(kf_scrubber *s, const char *pattern)
{
    unsigned pair = (unsigned char)pattern[0] << 8 | (unsigned char)pattern[1];
    s->pairs[pair / 8] |= (unsigned char)(1u << pair % 8);
}

static bool is_in(const unsigned char *set, unsigned pair)
{
    return set[pair / 8] >> pair % 8 & 1;
}

static bool ends_in(const char *text, size_t size, const char *end)
{
    size_t length = strlen(end);
    return size >= length && strncmp(text + size - length, end, length) == 0;
}

static void add_environment(kf_scrubber *s)
{
    for (char **row = environ; row && *row; row++) {
        size_t name = strcspn(*row, "=");
        const char *value = (*row)[name] ? *row + name + 1 : "";
        bool secret = ends_in(*row, name, "KEY") || ends_in(*row, name, "TOKEN") ||
                      ends_in(*row, name, "SECRET") || ends_in(*row, name, "PASSWORD");
        if (secret && strlen(value) >= 8 && s->secret_count < SECRETS) {
            s->secrets[s->secret_count++] = (literal){value, strlen(value)};
            add_pair(s, value);
        }
        if (name == 4 && strncmp(*row, "HOME", 4) == 0 && strlen(value) > 1 &&
            strcmp(value, "/root") != 0) {
            s->home = (literal){value, strlen(value)};
            add_pair(s, value);
        }
    }
}

kf_scrubber *kf_scrubber_new(const char *const *secrets, size_t count, kf_error *error)
{
    kf_scrubber *s = calloc(1, sizeof *s);
    if (!s) return kf_fail_memory(error, "a scrubbed text"), NULL;
    for (size_t i = 0; i < COUNT(key_prefixes); i++) add_pair(s, key_prefixes[i]);
    for (size_t i = 0; i < COUNT(homes); i++) add_pair(s, homes[i]);
    add_pair(s, "Bearer");
    add_pair(s, "://");
    for (int c = 'A'; c <= 'z'; c++) /* "/x": the beginning of a path */
        if (isalpha(c)) add_pair(s, (char[]){'/', (char)c});
    add_pair(s, "host");
    for (size_t i = 0; i < count && s->secret_count < SECRETS; i++)
        if (strlen(secrets[i]) >= 8) {
            s->secrets[s->secret_count++] = (literal){secrets[i], strlen(secrets[i])};
            add_pair(s, secrets[i]);
        }
    add_environment(s);
    memcpy(s->stops, s->pairs, sizeof s->stops);
    for (unsigned c = 0; c < 0x100; c++)
        if (c < 0x20 || c >= 0x80 || c == '"' || c == '\\') memset(s->stops + c * 32, 0xff, 32);
    return s;
}

kf_scrubber *kf_scrubber_new_for_keys(const char *const *secrets, size_t count, kf_error *error)
{
    kf_scrubber *s = kf_scrubber_new(secrets, count, error);
    if (s) s->keys_only = true;
    return s;
}

void kf_scrubber_free(kf_scrubber *scrubber)
{
    free(scrubber);
}

/* ---- patterns -------------------------------------------------------------------------------- */

static bool begins(const char *text, size_t size, const char *with, size_t length)
{
    return size >= length && memcmp(text, with, length) == 0;
}

static size_t key_length(const char *text, size_t size)
{
    size_t length = 0;
    while (length < size && (isalnum((unsigned char)text[length]) || strchr("_-.", text[length])) &&
           text[length])
        length++;
    while (length && text[length - 1] == '.') length--; /* the end of a sentence */
    return length;
}

static size_t word_length(const char *text, size_t size)
{
    size_t length = 0;
    while (length < size &&
           (isalnum((unsigned char)text[length]) || (text[length] && strchr("_-.+", text[length]))))
        length++;
    return length;
}

/* Returns the length of the folders of an absolute path: of "/a/b" in "/a/b/c.h". 0 for other texts
 * and for system folders. */
static size_t folders_length(const char *text, size_t size)
{
    for (size_t i = 0; i < COUNT(system_folders); i++)
        if (begins(text, size, system_folders[i], strlen(system_folders[i]))) return 0;
    size_t last = 0, at = 0;
    while (at < size && text[at] == '/') {
        last = at;
        size_t length = word_length(text + at + 1, size - at - 1);
        if (!length) break;
        at += 1 + length;
    }
    return last;
}

typedef struct match {
    size_t length; /* 0: none */
    const char *with;
} match;

/* Matches "://user:password@" of a URL. A shell variable in place of the password is no secret. */
static match url_user(const char *text, size_t size)
{
    if (!begins(text, size, "://", 3)) return (match){0};
    size_t colon = 0, at = 3;
    for (; at < size && text[at] && !strchr("/@?# \t\r\n\"'`<>", text[at]); at++)
        if (text[at] == ':' && !colon) colon = at;
    bool password = colon && at < size && text[at] == '@' && at > colon + 1;
    return (match){password && text[colon + 1] != '$' ? at + 1 : 0, "://[key]@"};
}

static match match_at(const kf_scrubber *s, const char *text, size_t size, unsigned char before,
                      bool paths)
{
    for (size_t i = 0; i < s->secret_count; i++)
        if (begins(text, size, s->secrets[i].text, s->secrets[i].size))
            return (match){s->secrets[i].size, "[key]"};
    if (!s->keys_only && s->home.size && begins(text, size, s->home.text, s->home.size) &&
        (size == s->home.size || !isalnum((unsigned char)text[s->home.size])))
        return (match){s->home.size, "/home/user"};
    if (text[0] == ':' && isalnum(before)) return url_user(text, size);
    if (isalnum(before)) return (match){0};
    if (text[0] == '/' && !s->keys_only) {
        for (size_t i = 0; i < COUNT(homes); i++) {
            size_t length = strlen(homes[i]);
            size_t name = begins(text, size, homes[i], length)
                              ? word_length(text + length, size - length)
                              : 0;
            if (name && !(name == 4 && memcmp(text + length, "user", 4) == 0))
                return (match){length + name, "/home/user"};
            if (name) return (match){0};
        }
        bool starts = !before || strchr(" \t\n\"'=(,:;[`", before);
        size_t length = paths && starts ? folders_length(text, size) : 0;
        return (match){length, "[path]"};
    }
    if (text[0] == 'h' && before == '"' && !s->keys_only && begins(text, size, "host\":\"", 7)) {
        const char *end = memchr(text + 7, '"', size - 7);
        return end && end > text + 7 ? (match){(size_t)(end - text), "host\":\""} : (match){0};
    }
    if (begins(text, size, "Bearer ", 7)) {
        size_t length = key_length(text + 7, size - 7);
        return length >= MIN_KEY ? (match){7 + length, "Bearer [key]"} : (match){0};
    }
    for (size_t i = 0; i < COUNT(key_prefixes); i++) {
        size_t prefix = strlen(key_prefixes[i]);
        if (!begins(text, size, key_prefixes[i], prefix)) continue;
        size_t length = key_length(text + prefix, size - prefix);
        bool digit = false; /* sk-learn-compatible-regression is not a key. */
        for (size_t k = 0; k < length && !digit; k++)
            digit = isdigit((unsigned char)text[prefix + k]);
        if (length >= MIN_KEY && digit) return (match){prefix + length, "[key]"};
    }
    return (match){0};
}

/* ---- the pass -------------------------------------------------------------------------------- */

/* Returns the length of the valid UTF-8 sequence at `text`, else 0 (RFC 3629: no overlong forms, no
 * surrogates). */
static size_t utf8_length(const unsigned char *text, size_t size)
{
    unsigned char a = text[0];
    size_t length = a >= 0xc2 && a <= 0xdf   ? 2
                    : (a & 0xf0) == 0xe0     ? 3
                    : a >= 0xf0 && a <= 0xf4 ? 4
                                             : 0;
    if (!length || size < length) return 0;
    for (size_t i = 1; i < length; i++)
        if ((text[i] & 0xc0) != 0x80) return 0;
    if ((a == 0xe0 && text[1] < 0xa0) || (a == 0xed && text[1] > 0x9f) ||
        (a == 0xf0 && text[1] < 0x90) || (a == 0xf4 && text[1] > 0x8f))
        return 0;
    return length;
}

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

static char *put(char *to, const char *text, size_t size)
{
    memcpy(to, text, size);
    return to + size;
}

static char *put_control(char *to, unsigned char c, bool json)
{
    static const char digits[] = "0123456789abcdef";
    if (c == 0) return put(to, REPLACEMENT, 3);
    if (!json) return *to = (char)c, to + 1;
    switch (c) {
    case '"': return put(to, "\\\"", 2);
    case '\\': return put(to, "\\\\", 2);
    case '\n': return put(to, "\\n", 2);
    case '\t': return put(to, "\\t", 2);
    case '\r': return put(to, "\\r", 2);
    default: return put(to, (const char[]){'\\', 'u', '0', '0', digits[c >> 4], digits[c & 15]}, 6);
    }
}

static char *put_replacement(char *to, const char *text, bool json)
{
    for (; *text; text++) {
        if (json && *text == '"') *to++ = '\\';
        *to++ = *text;
    }
    return to;
}

/* Runs between escapes are short. Runs of up to 16 bytes are copied as 16 bytes, without a call.
 * The buffer has room for the bytes after the run. */
static char *put_run(char *to, const char *text, size_t size, size_t readable)
{
    if (size <= 16 && readable >= 16) {
        memcpy(to, text, 16);
        return to + size;
    }
    return put(to, text, size);
}

typedef struct scrubbing {
    const kf_scrubber *scrubber;
    const char *text;
    size_t size, at;
    bool paths, json;
    kf_scrub_count *count;
} scrubbing;

/* Scrubs from `at` to `end`, or to the end of a sequence that crosses it. The buffer has room at
 * `to`.
 */
static char *scrub_piece(scrubbing *w, char *to, size_t end)
{
    const kf_scrubber *s = w->scrubber;
    const unsigned char *bytes = (const unsigned char *)w->text;
    size_t at = w->at, start = at, last = w->size - 1, size = w->size;
    while (at < end) {
        unsigned pair;
        size_t until = end < last ? end : last; /* where a pair is whole */
        for (; at < until; at++)
            if (is_in(s->stops, (unsigned)bytes[at] << 8 | bytes[at + 1])) break;
        if (at == end) break;
        pair = (unsigned)bytes[at] << 8 | (at < last ? bytes[at + 1] : 0);
        if (!is_in(s->stops, pair)) { /* the last byte */
            at++;
            continue;
        }
        match found = is_in(s->pairs, pair)
                          ? match_at(s, w->text + at, size - at, at ? bytes[at - 1] : 0, w->paths)
                          : (match){0};
        unsigned char c = bytes[at];
        size_t length = found.length || c < 0x80 ? 0 : utf8_length(bytes + at, size - at);
        bool plain = c >= 0x20 && c < 0x80 && c != '"' && c != '\\';
        if (!found.length && (length || plain)) {
            at += length ? length : 1;
            continue;
        }
        to = put_run(to, w->text + start, at - start, size - start);
        if (found.length)
            to = put_replacement(to, found.with, w->json);
        else if (c >= 0x80)
            to = put(to, REPLACEMENT, 3);
        else
            to = put_control(to, c, w->json);
        if (found.length && strstr(found.with, "[key]")) w->count->secrets++;
        if (found.length && !strstr(found.with, "[key]")) w->count->paths++;
        start = at += found.length ? found.length : 1;
    }
    w->at = at;
    return put(to, w->text + start, at - start);
}

void kf_scrub_append(const kf_scrubber *s, kf_buffer *out, const char *text, size_t size,
                     bool paths, bool json, kf_scrub_count *count)
{
    scrubbing w = {
        .scrubber = s, .text = text, .size = size, .paths = paths, .json = json, .count = count};
    while (w.at < size) {
        size_t piece = size - w.at < PIECE ? size - w.at : PIECE;
        char *to = kf_buffer_reserve(out, LONGEST * piece + SLACK);
        if (!to) break;
        to = scrub_piece(&w, to, w.at + piece);
        out->size = (size_t)(to - out->data);
        *to = '\0';
    }
}

char *kf_scrub_text(const kf_scrubber *scrubber, const char *text, size_t size, bool paths,
                    kf_scrub_count *count, kf_error *error)
{
    kf_autobuffer out = {0};
    kf_scrub_append(scrubber, &out, text, size, paths, false, count);
    char *result = kf_buffer_take(&out);
    if (!result) kf_fail_memory(error, "a scrubbed text");
    return result;
}

char *kf_scrub(const char *text, size_t size, bool paths, kf_scrub_count *count, kf_error *error)
{
    kf_auto(kf_scrubber) scrubber = kf_scrubber_new(NULL, 0, error);
    return scrubber ? kf_scrub_text(scrubber, text, size, paths, count, error) : NULL;
}
