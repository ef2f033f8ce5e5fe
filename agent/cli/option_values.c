/* One option: its row by name, and a text as its value. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kforge/buffer.h"
#include "kforge/json.h"
#include "nearest.h"
#include "options.h"

#define MAX_CHOICES 64

/* ---- values ---------------------------------------------------------------------------------- */

static bool within(const kf_option *option, double value)
{
    return (option->low == 0 && option->high == 0) ||
           (value >= option->low && value <= option->high);
}

static bool out_of_range(const kf_option *option, const char *text, const char *source,
                         kf_error *error)
{
    return kf_fail(error, KF_ERROR_INPUT, "%s: %s is out of range; expected %.15g to %.15g", source,
                   text, option->low, option->high);
}

/* strtod also takes "nan", "inf", hexadecimal numbers and leading blanks. A setting must not be
 * one. */
static bool read_number(const char *text, const char **end, double *value)
{
    if (!isdigit((unsigned char)text[strspn(text, "+-.")]) || strspn(text, "+-") > 1 ||
        text[strcspn(text, "xX")])
        return false;
    char *stop;
    *value = strtod(text, &stop);
    *end = stop;
    return isfinite(*value);
}

static bool read_duration(const char *text, double *seconds)
{
    static const struct {
        const char *name;
        double seconds;
    } units[] = {{"ms", 1e-3}, {"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86400}};
    /* Units decrease: 1h30m, not 30m1h. */
    double sum = 0, least = INFINITY;
    const char *at = text;
    do {
        double value;
        if (!read_number(at, &at, &value) || value < 0) return false;
        double unit = 1;
        if (*at) {
            unit = 0;
            for (size_t i = 0; i < sizeof units / sizeof *units && unit == 0; i++) {
                size_t length = strlen(units[i].name);
                if (strncmp(at, units[i].name, length) != 0 || isalpha((unsigned char)at[length]))
                    continue;
                unit = units[i].seconds;
                at += length;
            }
        } else if (at != text && isfinite(least)) {
            /* "1h30" */
            return false;
        }
        if (unit == 0 || unit >= least) return false;
        least = unit;
        sum += value * unit;
    } while (*at);
    *seconds = sum;
    return isfinite(sum);
}

static bool set_choice(const kf_option *option, const char *text, const char *source,
                       const char **target, kf_error *error)
{
    const char *words[MAX_CHOICES];
    kf_autofree char *copy = strdup(option->choices);
    if (!copy) return kf_fail_memory(error, "an option");
    size_t count = 0, length = strlen(text);
    for (char *rest = copy, *word; (word = strsep(&rest, "|")) && count < MAX_CHOICES;)
        words[count++] = word;
    for (size_t i = 0; i < count; i++)
        if (strlen(words[i]) == length && strcmp(words[i], text) == 0) {
            *target = text;
            return true;
        }
    const char *near = kf_nearest(text, words, count);
    kf_autobuffer all = {0};
    for (size_t i = 0; i < count; i++)
        kf_buffer_format(&all, "%s%s", i == 0 ? "" : i + 1 < count ? ", " : " or ", words[i]);
    if (all.failed) return kf_fail_memory(error, "an option");
    if (near)
        return kf_fail(error, KF_ERROR_INPUT, "%s: unknown value \"%s\"; did you mean %s? (%s)",
                       source, text, near, all.data);
    return kf_fail(error, KF_ERROR_INPUT, "%s: unknown value \"%s\"; expected %s", source, text,
                   all.data);
}

static bool set_device(const char *text, const char *source, const char **target, kf_error *error)
{
    static const char *const words[] = {"cpu", "cuda"};
    static const char form[] = "cpu, cuda or cuda:N";
    size_t digits = strncmp(text, "cuda:", 5) == 0 ? strspn(text + 5, "0123456789") : 0;
    /* "": as without a device */
    if (!*text || strcmp(text, "cpu") == 0 || strcmp(text, "cuda") == 0 ||
        (digits && digits < 9 && !text[5 + digits])) {
        *target = text;
        return true;
    }
    const char *near = kf_nearest(text, words, sizeof words / sizeof *words);
    return kf_fail(error, KF_ERROR_INPUT, "%s: unknown device \"%s\"; %s%s%s%s%s", source, text,
                   near ? "did you mean " : "expected ", near ? near : form, near ? "? (" : "",
                   near ? form : "", near ? ")" : "");
}

static bool set_flag(const char *text, const char *source, bool *target, kf_error *error)
{
    static const char *const words[] = {"true", "false", "1", "0", "yes", "no", "on", "off"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(text, words[i]) == 0) {
            *target = i % 2 == 0;
            return true;
        }
    return kf_fail(error, KF_ERROR_INPUT, "%s: expected true or false, found \"%s\"", source, text);
}

bool kf_option_set(const kf_option *option, const char *text, const char *source, void *target,
                   kf_error *error)
{
    const char *end;
    double number;
    switch (option->type) {
    case KF_OPTION_FLAG: return set_flag(text, source, target, error);
    case KF_OPTION_TEXT:
    case KF_OPTION_PATH:
        if (option->type == KF_OPTION_PATH && !*text)
            return kf_fail(error, KF_ERROR_INPUT, "%s: the path is empty", source);
        *(const char **)target = text;
        return true;
    case KF_OPTION_DEVICE: return set_device(text, source, target, error);
    case KF_OPTION_LIST: {
        kf_option_list *list = target;
        if (list->count == KF_OPTION_LIST_MAX)
            return kf_fail(error, KF_ERROR_INPUT, "%s: given more than %d times", source,
                           KF_OPTION_LIST_MAX);
        list->items[list->count++] = text;
        return true;
    }
    case KF_OPTION_INTEGER: {
        char *stop;
        errno = 0;
        long long value = strtoll(text, &stop, 10);
        if (stop == text || *stop || isspace((unsigned char)*text))
            return kf_fail(error, KF_ERROR_INPUT, "%s: expected an integer, found \"%s\"", source,
                           text);
        if (errno == ERANGE)
            return kf_fail(error, KF_ERROR_INPUT, "%s: %s is out of range", source, text);
        if (!within(option, (double)value)) return out_of_range(option, text, source, error);
        *(int64_t *)target = value;
        return true;
    }
    case KF_OPTION_NUMBER:
        if (!read_number(text, &end, &number) || *end)
            return kf_fail(error, KF_ERROR_INPUT, "%s: expected a number, found \"%s\"", source,
                           text);
        break;
    case KF_OPTION_DURATION:
        if (!read_duration(text, &number))
            return kf_fail(
                error, KF_ERROR_INPUT,
                "%s: expected a duration such as 90, 90s, 5m, 1h30m or 500ms, found \"%s\"", source,
                text);
        break;
    case KF_OPTION_CHOICE: return set_choice(option, text, source, target, error);
    default: return kf_fail(error, KF_ERROR_INTERNAL, "%s: option of an unknown type", source);
    }
    if (!within(option, number)) return out_of_range(option, text, source, error);
    *(double *)target = number;
    return true;
}

/* ---- look-ups -------------------------------------------------------------------------------- */

/* Options of earlier versions that repeated another one. */
static const struct {
    const char *removed, *present;
    /* NULL: of all commands */
    const char *command;
} removed_options[] = {
    {"llm", "model", NULL},
    {"budget-usd", "cost", NULL},
    {"budget-tokens", "tokens", NULL},
    {"ids", "quiet", "list"},
};

const char *kf_option_replacement(const char *command, const char *removed)
{
    for (size_t i = 0; i < sizeof removed_options / sizeof *removed_options; i++)
        if (strcmp(removed_options[i].removed, removed) == 0 &&
            (!removed_options[i].command ||
             (command && strcmp(removed_options[i].command, command) == 0)))
            return removed_options[i].present;
    return NULL;
}

const kf_option *kf_option_find(const kf_command *command, const char *name)
{
    for (const kf_option *option = command->options; option && option->name; option++)
        if (strcmp(option->name, name) == 0) return option;
    return NULL;
}

const kf_option *kf_option_configurable(const kf_command *const *commands, const char *name)
{
    for (; *commands; commands++) {
        const kf_option *option = kf_option_find(*commands, name);
        if (option && option->config) return option;
    }
    return NULL;
}
