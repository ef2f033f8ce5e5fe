#include "api_key.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kforge/buffer.h"
#include "kforge/cleanup.h"
#include "kforge/export.h"
#include "kforge/file.h"

#define KEY_PAGES_BYTES 65536
#define MAX_KEYS 64
#define FILE_BYTES 65536
/* A shorter value is a placeholder. Redacting it would damage texts. */
#define MIN_KEY_BYTES 8

/* Names and values, one after the other, in pages of their own. */
static char *key_pages;
static size_t vault_used;
static struct {
    const char *name, *value;
} keys[MAX_KEYS];
static size_t key_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static bool is_key_name(const char *name, size_t length)
{
    static const char end[] = "_API_KEY";
    size_t tail = sizeof end - 1;
    return length > tail && length < 128 && memcmp(name + length - tail, end, tail) == 0;
}

static const char *put(const char *text, size_t size)
{
    if (!key_pages) {
        void *pages =
            mmap(NULL, KEY_PAGES_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (pages == MAP_FAILED) return NULL;
        madvise(pages, KEY_PAGES_BYTES, MADV_DONTDUMP);
        /* A forked child that has not called exec yet gets no key. */
        madvise(pages, KEY_PAGES_BYTES, MADV_WIPEONFORK);
        /* Fails if the limits forbid it. That is no error. */
        mlock(pages, KEY_PAGES_BYTES);
        key_pages = pages;
    }
    if (size + 1 > KEY_PAGES_BYTES - vault_used) return NULL;
    char *at = key_pages + vault_used;
    memcpy(at, text, size);
    at[size] = '\0';
    vault_used += size + 1;
    return at;
}

static const char *find(const char *name)
{
    for (size_t i = 0; i < key_count; i++)
        if (strcmp(keys[i].name, name) == 0) return keys[i].value;
    return NULL;
}

static const char *keep(const char *name, size_t name_size, const char *value, size_t size)
{
    if (key_count == MAX_KEYS || size == 0) return NULL;
    const char *kept_name = put(name, name_size), *kept = kept_name ? put(value, size) : NULL;
    if (!kept) return NULL;
    keys[key_count].name = kept_name;
    keys[key_count++].value = kept;
    return kept;
}

void kf_api_keys_hide(void)
{
    pthread_mutex_lock(&lock);
    char **to = environ;
    for (char **from = environ; from && *from; from++) {
        char *equals = strchr(*from, '=');
        if (!equals || !is_key_name(*from, (size_t)(equals - *from))) {
            *to++ = *from;
            continue;
        }
        size_t size = strlen(equals + 1);
        *equals = '\0';
        for (size_t i = 0; i < key_count; i++) /* A newer value replaces an older one. */
            if (strcmp(keys[i].name, *from) == 0) keys[i].name = "";
        keep(*from, strlen(*from), equals + 1, size);
        *equals = '=';
        explicit_bzero(equals + 1, size);
    }
    if (to) *to = NULL;
    pthread_mutex_unlock(&lock);
}

void kf_api_keys_inherit(bool inherited)
{
    pthread_mutex_lock(&lock);
    if (key_pages)
        madvise(key_pages, KEY_PAGES_BYTES, inherited ? MADV_KEEPONFORK : MADV_WIPEONFORK);
    pthread_mutex_unlock(&lock);
}

/* ---- files ----------------------------------------------------------------------------------- */

/* Returns the value of `name` in a text of lines [export ]NAME=VALUE. */
static const char *find_in(char *text, const char *name)
{
    const char *kept = NULL;
    for (char *line = text, *next; line && !kept; line = next) {
        next = strchr(line, '\n');
        if (next) *next++ = '\0';
        while (isspace((unsigned char)*line)) line++;
        if (strncmp(line, "export ", 7) == 0) line += 7;
        size_t length = strlen(name);
        if (strncmp(line, name, length) != 0) continue;
        char *value = line + length;
        while (*value == ' ' || *value == '\t') value++;
        if (*value++ != '=') continue;
        while (*value == ' ' || *value == '\t') value++;
        size_t size = strlen(value);
        char quote = *value == '"' || *value == '\'' ? *value : 0;
        if (quote && strchr(value + 1, quote)) {
            value++;
            size = strcspn(value, (char[]){quote, 0});
        } else {
            const char *remark = strstr(value, " #");
            if (remark) size = (size_t)(remark - value);
            while (size && isspace((unsigned char)value[size - 1])) size--;
        }
        kept = keep(name, strlen(name), value, size);
    }
    return kept;
}

/* Returns the key in the file, or NULL. Fills *error if the file exists and must not be used.
 * `private`: only the user may have access to it. */
static const char *from_file(const char *path, bool private, const char *name, kf_error *error)
{
    kf_autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat status;
    if (fd < 0) {
        if (errno != ENOENT && errno != ENOTDIR)
            kf_fail(error, KF_ERROR_IO, "%s: can't be read: %s", path, strerror(errno));
        return NULL;
    }
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) return NULL;
    if (private && (status.st_uid != geteuid() || (status.st_mode & 077))) {
        kf_fail(error, KF_ERROR_INPUT,
                "%s: only you may have access to a key file; run chmod 600 on it (its mode "
                "is %o)",
                path, (unsigned)(status.st_mode & 07777));
        return NULL;
    }
    if (status.st_size > FILE_BYTES) {
        kf_fail(error, KF_ERROR_LIMIT, "%s: more than %d bytes", path, FILE_BYTES);
        return NULL;
    }
    size_t size = (size_t)status.st_size;
    char *text = calloc(1, size + 1);
    const char *found = NULL;
    if (text && kf_read_all(fd, text, size)) found = find_in(text, name);
    if (text) explicit_bzero(text, size);
    free(text);
    return found;
}

static char *key_file(void)
{
    const char *given = getenv("KFORGE_KEY_FILE"), *base = getenv("XDG_CONFIG_HOME"),
               *home = getenv("HOME");
    if (given && *given) return strdup(given);
    if (base && base[0] == '/') return kf_path_join(base, "kforge/keys");
    return home && home[0] == '/' ? kf_path_join(home, ".config/kforge/keys") : NULL;
}

const char *kf_api_key(const char *name, kf_error *error)
{
    kf_error why = {0};
    kf_api_keys_hide();
    pthread_mutex_lock(&lock);
    const char *value = find(name);
    if (!value) value = from_file(".env", false, name, &why);
    if (!value && !why.code) {
        kf_autofree char *path = key_file();
        if (path) value = from_file(path, true, name, &why);
    }
    pthread_mutex_unlock(&lock);
    if (!value && why.code) kf_fail_copy(error, &why);
    return value;
}

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define IS_SANITIZED 1
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#define IS_SANITIZED 1
#endif

void kf_api_keys_guard(void)
{
#ifndef IS_SANITIZED /* The leak checker reads the memory of its own process. */
    prctl(PR_SET_DUMPABLE, 0);
#endif
}

size_t kf_api_keys_redact_bytes(char *text, size_t size)
{
    static const char mark[] = "[key]";
    enum { MARK = sizeof mark - 1 };
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < key_count; i++) {
        size_t length = strlen(keys[i].value);
        if (length < MIN_KEY_BYTES) continue;
        for (char *at = text; (at = memmem(at, (size_t)(text + size - at), keys[i].value, length));
             at += MARK) {
            memcpy(at, mark, MARK);
            memmove(at + MARK, at + length, (size_t)(text + size - at) - length + 1);
            size -= length - MARK;
        }
    }
    pthread_mutex_unlock(&lock);
    return size;
}

void kf_api_keys_redact(char *text)
{
    kf_api_keys_redact_bytes(text, strlen(text));
}

/* Reads the keys of the known providers from the files. Those of the environment are known. */
static void read_files(void)
{
    static const char *const names[] = {
        "OPENAI_API_KEY",     "ANTHROPIC_API_KEY",    "GEMINI_API_KEY",   "GOOGLE_API_KEY",
        "OPENROUTER_API_KEY", "AZURE_OPENAI_API_KEY", "DEEPSEEK_API_KEY", "KFORGE_API_KEY"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) kf_api_key(names[i], NULL);
}

size_t kf_api_keys_known(const char **values, size_t most)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, read_files);
    size_t count = 0;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < key_count && count < most; i++)
        if (strlen(keys[i].value) >= MIN_KEY_BYTES) values[count++] = keys[i].value;
    pthread_mutex_unlock(&lock);
    return count;
}

/* ---- command lines --------------------------------------------------------------------------- */

/* The ends of names of options, variables and headers that hold a secret. '-' counts as '_'. */
static const char *const secret_names[] = {
    "token",  "secret",     "password",   "passwd",     "passphrase",  "api_key",
    "apikey", "access_key", "secret_key", "credential", "credentials",
};
/* A shorter value is a number or a word. */
#define MIN_WORD_BYTES 4

static bool ends_secretly(const char *name, size_t size)
{
    for (size_t i = 0; i < sizeof secret_names / sizeof *secret_names; i++) {
        const char *end = secret_names[i];
        size_t length = strlen(end), k = 0;
        if (size < length) continue;
        const char *tail = name + size - length;
        while (k < length && tolower((unsigned char)(tail[k] == '-' ? '_' : tail[k])) == end[k])
            k++;
        if (k == length) return true;
    }
    return false;
}

static bool names(const char *name, size_t size, const char *wanted)
{
    return size == strlen(wanted) && strncasecmp(name, wanted, size) == 0;
}

/* Returns the length of the value at `text`, to the end of the word. 0 for what is no secret
 * itself: a variable, a file, a number of a few digits. */
static size_t value_length(const char *text)
{
    size_t length = strcspn(text, " \t\n'\";|&()<>");
    bool elsewhere = !length || strchr("$`@/~.-", *text), numeric = length < 8;
    for (size_t i = 0; i < length && numeric; i++) numeric = isdigit((unsigned char)text[i]);
    return elsewhere || numeric || length < MIN_WORD_BYTES ? 0 : length;
}

/* Returns where the value of the option, variable or header begins that `name` names, NULL if no
 * value follows. `is_curl`: the command names curl. */
static const char *value_of(const char *name, size_t size, bool is_curl)
{
    const char *after = name + size, *at = after;
    bool option = *name == '-', blank = *at == ' ' || *at == '\t';
    bool user = is_curl && (names(name, size, "-u") || names(name, size, "--user") ||
                            names(name, size, "--proxy-user"));
    bool header = names(name, size, "authorization") || names(name, size, "proxy-authorization");
    bool shell = names(name, size, "sshpass");
    if (!user && !header && !shell && !ends_secretly(name, size)) return NULL;
    if (!(*at == '=' || *at == ':' || (blank && (option || shell)))) return NULL;
    at += !blank;
    at += strspn(at, " \t'\"");
    if (shell && strncmp(at, "-p", 2) != 0) return NULL;
    if (shell) at += 2 + strspn(at + 2, " \t'\"");
    if (header && *after != ':') return NULL;
    if (header) { /* "Basic …" */
        size_t scheme = strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
        if (at[scheme] == ' ') at += scheme + strspn(at + scheme, " ");
    }
    if (user) {
        const char *colon = strpbrk(at, ": \t\n'\"");
        if (!colon || *colon != ':') return NULL;
        at = colon + 1;
    }
    return at;
}

/* Appends the command line with "[key]" for the values that its words name as secret. */
static void mask_named(kf_buffer *out, const char *text, int64_t *count)
{
    bool is_curl = strstr(text, "curl") || strstr(text, "wget");
    while (*text) {
        size_t size = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                   "_-");
        const char *value = size ? value_of(text, size, is_curl) : NULL;
        size_t length = value ? value_length(value) : 0;
        /* A value that is masked already stays. */
        if (length && strncmp(value, "[key]", 5) != 0) {
            kf_buffer_append(out, text, (size_t)(value - text));
            kf_buffer_string(out, "[key]");
            text = value + length;
            ++*count;
            continue;
        }
        if (!size) size = 1;
        kf_buffer_append(out, text, size);
        text += size;
    }
}

char *kf_api_keys_without(const char *text, int64_t *count)
{
    const char *known[MAX_KEYS];
    kf_scrub_count found = {0};
    kf_auto(kf_scrubber) scrubber =
        kf_scrubber_new_for_keys(known, kf_api_keys_known(known, MAX_KEYS), NULL);
    kf_autofree char *clean =
        scrubber ? kf_scrub_text(scrubber, text, strlen(text), false, &found, NULL) : NULL;
    kf_autobuffer masked = {0};
    if (clean) mask_named(&masked, clean, &found.secrets);
    if (count) *count = found.secrets;
    /* An empty text has no buffer. */
    if (clean && !*clean) return kf_steal(&clean);
    return clean && !masked.failed ? kf_buffer_take(&masked) : NULL;
}

bool kf_api_keys_check_command(const char *what, const char *command, kf_error *error)
{
    int64_t count = 0;
    kf_autofree char *clean = kf_api_keys_without(command, &count);
    if (!clean) return kf_fail_memory(error, "a command line");
    return !count || kf_fail(error, KF_ERROR_INPUT,
                             "the %s %s holds a key, and kforge prints and stores commands; put "
                             "the key into a file that the command reads",
                             what, clean);
}
