#include "command_line.h"

#include <stdlib.h>
#include <string.h>

#include "kforge/buffer.h"

/* Within single quotes only the single quote itself has a meaning. */
static void append_word(kf_buffer *out, const char *word)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=.,:/@%";
    if (*word && word[strspn(word, plain)] == '\0') {
        kf_buffer_string(out, word);
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

static void append_option(kf_buffer *out, const char *name, const char *value)
{
    kf_buffer_format(out, " --%s ", name);
    append_word(out, value);
}

/* Writes the shortest form that reads back as the same number. */
static void append_number(kf_buffer *out, const char *name, double value)
{
    char text[40];
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value) break;
    }
    append_option(out, name, text);
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
        for (size_t i = 0; i < list->count; i++) append_option(out, option->name, list->items[i]);
        break;
    }
    case KF_OPTION_INTEGER:
        snprintf(text, sizeof text, "%lld", (long long)*(const int64_t *)place);
        append_option(out, option->name, text);
        break;
    case KF_OPTION_NUMBER:
    case KF_OPTION_DURATION: append_number(out, option->name, *(const double *)place); break;
    case KF_OPTION_TEXT:
    case KF_OPTION_CHOICE:
    case KF_OPTION_PATH: {
        const char *const *word = place;
        if (*word) append_option(out, option->name, *word);
    }
    }
}

char *kf_command_line(const kf_command *command, const void *settings,
                      const kf_command_word *instead, const char *const *arguments,
                      size_t argument_count, kf_error *error)
{
    kf_autobuffer out = {0};
    kf_buffer_format(&out, "kforge %s", command->name);
    for (const kf_option *option = command->options; option && option->name; option++) {
        const kf_command_word *word = instead;
        while (word->name && strcmp(word->name, option->name) != 0) word++;
        if (!word->name)
            append_value(&out, option, settings);
        else if (word->text)
            append_option(&out, option->name, word->text);
    }
    for (size_t i = 0; i < argument_count; i++) {
        kf_buffer_string(&out, " ");
        append_word(&out, arguments[i]);
    }
    char *line = kf_buffer_take(&out);
    if (!line) kf_fail_memory(error, "a command line");
    return line;
}
