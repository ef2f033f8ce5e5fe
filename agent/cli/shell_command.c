#include "shell_command.h"

#include <stdlib.h>
#include <string.h>

#include "kforge/buffer.h"
#include "kforge/cleanup.h"
#include "kforge/verdict.h"

/* True if a terminal stream prints the word as it is, in one line (terminal.h). U+F000 and
 * following, which begin with 0xEF, include the styles of terminal.h. */
static bool prints_as_it_is(const char *word)
{
    for (const char *at = word; *at; at++)
        if ((unsigned char)*at < 0x20 || *at == 0x7f || (unsigned char)*at == 0xef) return false;
    kf_autofree char *clean = kf_text_clean(word, strlen(word), true);
    return clean && strcmp(clean, word) == 0;
}

/* Appends $'…' (POSIX.1-2024), with an octal number for each byte that is not printable ASCII. */
static void append_bytes(kf_buffer *out, const char *word)
{
    kf_buffer_string(out, "$'");
    for (; *word; word++) {
        unsigned char c = (unsigned char)*word;
        if (c < 0x20 || c >= 0x7f)
            kf_buffer_format(out, "\\%03o", c);
        else
            kf_buffer_format(out, c == '\'' || c == '\\' ? "\\%c" : "%c", c);
    }
    kf_buffer_string(out, "'");
}

/* Within single quotes only the single quote itself has a meaning. zsh expands a leading "=". */
void kf_command_append_word(kf_buffer *out, const char *word)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=.,:/@%";
    if (*word && *word != '=' && word[strspn(word, plain)] == '\0') {
        kf_buffer_string(out, word);
        return;
    }
    if (!prints_as_it_is(word)) {
        append_bytes(out, word);
        return;
    }
    kf_buffer_string(out, "'");
    for (; *word; word++) {
        if (*word == '\'')
            kf_buffer_string(out, "'\\''");
        else
            kf_buffer_append(out, word, 1);
    }
    kf_buffer_string(out, "'");
}

void kf_command_append_option(kf_buffer *out, const char *name, const char *value)
{
    kf_buffer_format(out, " --%s%s", name, *value == '-' ? "=" : " ");
    kf_command_append_word(out, value);
}

/* Writes the shortest form that reads back as the same number. */
static void append_number(kf_buffer *out, const char *name, double value)
{
    char text[40];
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value) break;
    }
    kf_command_append_option(out, name, text);
}

static void append_value(kf_buffer *out, const kf_option *option, const void *settings)
{
    const void *place = (const char *)settings + option->offset;
    char text[32];
    switch (option->type) {
    case KF_OPTION_FLAG:
        if (*(const bool *)place)
            kf_buffer_format(out, " --%s", option->name);
        else if (option->fallback && strcmp(option->fallback, "true") == 0)
            kf_buffer_format(out, " --no-%s", option->name);
        break;
    case KF_OPTION_LIST: {
        const kf_option_list *list = place;
        for (size_t i = 0; i < list->count; i++)
            kf_command_append_option(out, option->name, list->items[i]);
        break;
    }
    case KF_OPTION_INTEGER:
        snprintf(text, sizeof text, "%lld", (long long)*(const int64_t *)place);
        kf_command_append_option(out, option->name, text);
        break;
    case KF_OPTION_NUMBER:
    case KF_OPTION_DURATION: append_number(out, option->name, *(const double *)place); break;
    case KF_OPTION_TEXT:
    case KF_OPTION_DEVICE:
    case KF_OPTION_CHOICE:
    case KF_OPTION_PATH: {
        const char *const *word = place;
        if (*word) kf_command_append_option(out, option->name, *word);
    }
    }
}

/* True if the option has its default. A duration in another unit than its default's counts as
 * changed. */
static bool is_default(const kf_option *option, const void *settings)
{
    const void *place = (const char *)settings + option->offset;
    const char *fallback = option->fallback;
    switch (option->type) {
    case KF_OPTION_FLAG: return *(const bool *)place == (fallback && strcmp(fallback, "true") == 0);
    case KF_OPTION_LIST: return !((const kf_option_list *)place)->count;
    case KF_OPTION_INTEGER:
        return fallback && strtod(fallback, NULL) == (double)*(const int64_t *)place;
    case KF_OPTION_NUMBER:
    case KF_OPTION_DURATION: return fallback && strtod(fallback, NULL) == *(const double *)place;
    case KF_OPTION_TEXT:
    case KF_OPTION_DEVICE:
    case KF_OPTION_CHOICE:
    case KF_OPTION_PATH: {
        const char *word = *(const char *const *)place;
        return fallback ? word && strcmp(word, fallback) == 0 : !word;
    }
    }
    return false;
}

char *kf_command_line(const kf_command *command, const void *settings, kf_command_options which,
                      const kf_command_word *instead, const char *const *arguments,
                      size_t argument_count, kf_error *error)
{
    kf_autobuffer out = {0};
    kf_buffer_format(&out, "kforge %s", command->name);
    for (const kf_option *option = command->options; option && option->name; option++) {
        const kf_command_word *word = instead;
        while (word->name && strcmp(word->name, option->name) != 0) word++;
        if (!word->name && (which == KF_COMMAND_ALL || !is_default(option, settings)))
            append_value(&out, option, settings);
        else if (word->name && word->text)
            kf_command_append_option(&out, option->name, word->text);
    }
    bool dashes = false;
    for (size_t i = 0; i < argument_count; i++) {
        kf_buffer_string(&out, arguments[i][0] == '-' && !dashes ? " -- " : " ");
        dashes |= arguments[i][0] == '-';
        kf_command_append_word(&out, arguments[i]);
    }
    char *line = kf_buffer_take(&out);
    if (!line) kf_fail_memory(error, "a command line");
    return line;
}
