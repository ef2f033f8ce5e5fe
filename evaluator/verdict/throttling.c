#include "throttling.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Fewer throttled batches do not move a median. */
#define LEAST_PART 0.1
/* Figures suffer if the ends of the interval have a larger ratio. */
#define WIDE 1.1

/* Bits of NVML's nvmlClocksEventReasons. */
#define POWER_CAP 0x4u
#define HARDWARE_SLOWDOWN 0x8u
#define SOFTWARE_HEAT 0x20u
#define HARDWARE_HEAT 0x40u
#define POWER_BRAKE 0x80u

/* In order of precedence: a batch has the first that applies. */
static const struct reason {
    const char *name;
    uint64_t bits;
    bool only_if_wide;
    const char *words, *remedy, *next;
} reasons[] = {
    {"heat", SOFTWARE_HEAT | HARDWARE_HEAT, false, "the GPU was too hot", "cool it",
     "Cool the GPU and measure again"},
    {"power", POWER_BRAKE, false, "the power supply braked the GPU", "check the power supply",
     "Check the GPU's power supply and measure again"},
    {"hardware", HARDWARE_SLOWDOWN, false, "the GPU's hardware slowed it down",
     "look for the cause with nvidia-smi -q -d PERFORMANCE",
     "Look for the cause with nvidia-smi -q -d PERFORMANCE and measure again"},
    {"limit", POWER_CAP, true, "the GPU was at its power limit",
     "fix a lower clock with nvidia-smi -lgc",
     "Fix a lower clock with nvidia-smi -lgc and measure again"},
};
#define REASONS (sizeof reasons / sizeof *reasons)

static bool is_wide(const kf_workload_verdict *workload)
{
    return workload->speedup.high > WIDE * workload->speedup.low;
}

/* Returns the index of the sample's reason, or REASONS. */
static size_t reason_of(const kf_sample *sample, bool wide)
{
    for (size_t i = 0; i < REASONS; i++)
        if ((sample->throttle & reasons[i].bits) && (wide || !reasons[i].only_if_wide)) return i;
    return REASONS;
}

bool kf_throttling_flag(kf_verdict *verdict, const kf_workload_verdict *workload)
{
    size_t timed = 0, throttled = 0, by_reason[REASONS + 1] = {0}, most = 0;
    bool wide = is_wide(workload);
    kf_autofree char *prefix = NULL;
    if (asprintf(&prefix, KF_FLAG_THROTTLED ":%s:", workload->workload) < 0) {
        prefix = NULL;
        return false;
    }
    kf_verdict_remove_flags(verdict, prefix);
    for (size_t i = 0; i < workload->sample_count; i++) {
        const kf_sample *sample = &workload->samples[i];
        if (sample->pair < 0 || (sample->side != 'b' && sample->side != 'c')) continue;
        timed++;
        by_reason[reason_of(sample, wide)]++;
    }
    for (size_t i = 0; i < REASONS; i++) {
        throttled += by_reason[i];
        if (by_reason[i] > by_reason[most]) most = i;
    }
    if (!throttled || (double)throttled < LEAST_PART * (double)timed) return true;
    return kf_verdict_add_flag(verdict, "%s%zu:%zu:%s", prefix, throttled, timed,
                               reasons[most].name);
}

const char *kf_throttling_find(const kf_verdict *verdict)
{
    for (size_t i = 0; i < verdict->flag_count; i++)
        if (strncmp(verdict->flags[i], KF_FLAG_THROTTLED ":", sizeof KF_FLAG_THROTTLED) == 0)
            return verdict->flags[i];
    return NULL;
}

typedef struct parts {
    const char *workload;
    int workload_size;
    size_t throttled, timed;
    const struct reason *reason;
} parts;

/* Tasks forbid colons in the names of workloads. */
static bool read_flag(const char *flag, parts *p)
{
    const size_t before = sizeof KF_FLAG_THROTTLED;
    if (strncmp(flag, KF_FLAG_THROTTLED ":", before) != 0) return false;
    p->workload = flag + before;
    p->workload_size = (int)strcspn(p->workload, ":");
    const char *at = p->workload + p->workload_size;
    char name[16];
    int read = 0;
    if (!p->workload_size ||
        sscanf(at, ":%zu:%zu:%15[a-z]%n", &p->throttled, &p->timed, name, &read) != 3 || at[read])
        return false;
    for (size_t i = 0; i < REASONS; i++)
        if (strcmp(name, reasons[i].name) == 0) return p->reason = &reasons[i], true;
    return false;
}

bool kf_throttling_words(const char *flag, kf_buffer *text)
{
    parts p;
    if (!read_flag(flag, &p)) return false;
    kf_buffer_format(text, "%s in %zu of %zu timed batches of workload %.*s; remedy: %s",
                     p.reason->words, p.throttled, p.timed, p.workload_size, p.workload,
                     p.reason->remedy);
    return true;
}

const char *kf_throttling_now(uint64_t reasons_now, const char **remedy)
{
    const kf_sample sample = {.throttle = reasons_now};
    size_t i = reason_of(&sample, false);
    if (i == REASONS) return NULL;
    *remedy = reasons[i].remedy;
    return reasons[i].words;
}

bool kf_throttling_next(const char *flag, kf_buffer *text)
{
    parts p;
    if (!read_flag(flag, &p)) return false;
    kf_buffer_format(text, "%s: it ran slower in %zu of %zu timed batches.", p.reason->next,
                     p.throttled, p.timed);
    return true;
}
