#include "noise.h"

#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kforge/cleanup.h"
#include "table.h"

/* share of the processors that other programs may use */
#define BUSY_SHARE 0.5
/* A baseline agrees with itself if its figure is this close to 1, and its interval this narrow. */
#define OFF 0.05
#define WIDE 1.2

/* Reads the first line of a file; "" if there is no file. */
static void read_line(const char *root, const char *path, char *line, size_t size)
{
    char whole[4096];
    line[0] = '\0';
    snprintf(whole, sizeof whole, "%s%s", root, path);
    kf_autofclose FILE *file = fopen(whole, "re");
    if (file && fgets(line, (int)size, file)) line[strcspn(line, "\n")] = '\0';
}

static long long count_throttled(const char *root)
{
    char pattern[4096], line[64];
    long long sum = 0;
    glob_t found = {0};
    snprintf(pattern, sizeof pattern,
             "%s/sys/devices/system/cpu/cpu*/thermal_throttle/core_throttle_count", root);
    if (glob(pattern, 0, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc; i++) {
            read_line("", found.gl_pathv[i], line, sizeof line);
            sum += strtoll(line, NULL, 10);
        }
    globfree(&found);
    return sum;
}

/* True if the system cools a processor by slowing it down. */
static bool is_slowed(const char *root)
{
    static const char *const kinds[] = {"Processor", "intel_powerclamp", "cpufreq-",
                                        "thermal-cpufreq-"};
    char pattern[4096], path[4096], line[64];
    glob_t found = {0};
    bool slowed = false;
    snprintf(pattern, sizeof pattern, "%s/sys/class/thermal/cooling_device*", root);
    if (glob(pattern, 0, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc; i++) {
            bool processor = false;
            snprintf(path, sizeof path, "%s/type", found.gl_pathv[i]);
            read_line("", path, line, sizeof line);
            for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
                processor |= strncmp(line, kinds[k], strlen(kinds[k])) == 0;
            snprintf(path, sizeof path, "%s/cur_state", found.gl_pathv[i]);
            read_line("", path, line, sizeof line);
            slowed |= processor && strtol(line, NULL, 10) > 0;
        }
    globfree(&found);
    return slowed;
}

void kf_noise_read(const char *root, kf_noise *noise)
{
    char line[128];
    double minute;
    int running;
    *noise = (kf_noise){.busy = NAN, .processors = (int)sysconf(_SC_NPROCESSORS_ONLN)};
    read_line(root, "/proc/loadavg", line, sizeof line);
    /* The load of the last minute still counts programs that have ended. */
    if (sscanf(line, "%lf %*f %*f %d/", &minute, &running) == 2)
        noise->busy = fmin(minute, running > 1 ? running - 1 : 0);
    read_line(root, "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", noise->governor,
              sizeof noise->governor);
    noise->throttled = count_throttled(root);
    noise->slowed = is_slowed(root);
}

static bool disagrees(kf_interval baseline)
{
    if (isnan(baseline.value)) return false;
    return fabs(log(baseline.value)) > OFF || !(baseline.high <= WIDE * baseline.low);
}

bool kf_noise_words(const kf_noise *start, const kf_noise *now, kf_interval baseline,
                    kf_buffer *text)
{
    char figure[KF_FIGURE], interval[KF_FIGURE];
    kf_autobuffer found = {0};
    const char *remedy = "end other programs, or measure longer with --seconds";
    if (start && start->busy > BUSY_SHARE * start->processors)
        kf_buffer_format(&found, "%.0f other programs run on %d processors", fmax(1, start->busy),
                         start->processors);
    if (start && *start->governor && strcmp(start->governor, "performance") != 0) {
        kf_buffer_format(&found, "%sthe frequency governor is %s", found.size ? ", " : "",
                         start->governor);
        if (!(start->busy > BUSY_SHARE * start->processors))
            remedy = "cpupower frequency-set -g performance";
    }
    if ((start && start->slowed) || (now && now->slowed)) {
        kf_buffer_format(&found, "%sthe processor is too hot and slowed down",
                         found.size ? ", " : "");
        remedy = "cool the machine, or run fewer programs";
    } else if (start && now && now->throttled > start->throttled) {
        kf_buffer_format(&found, "%sthe processor was too hot %lld times", found.size ? ", " : "",
                         now->throttled - start->throttled);
        remedy = "cool the machine, or run fewer programs";
    }
    if (disagrees(baseline)) {
        kf_buffer_format(&found, "%sthe baseline over itself is %s %s", found.size ? ", " : "",
                         kf_figure_speedup(baseline, figure),
                         kf_figure_interval(baseline, interval));
    }
    if (found.size) kf_buffer_format(text, "timing is noisy: %s; remedy: %s", found.data, remedy);
    return found.size > 0;
}

const char *kf_noise_remedy(char *line)
{
    static const char start[] = "; remedy: ";
    char *at = line ? strstr(line, start) : NULL;
    if (!at) return "";
    *at = '\0';
    return at + sizeof start - 1;
}
