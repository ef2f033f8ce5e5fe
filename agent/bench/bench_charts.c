/* Charts as SVG. They are drawn here and not in the browser, so that the page shows them without
 * scripts and tests can read them.
 *
 * The axis of speedups is linear from 0 to 1 and logarithmic above. So slower and faster get equal
 * room, and 0, the start of fast_p, is on it. */
#include <math.h>
#include <string.h>

#include "bench_charts.h"
#include "html_text.h"

#define WIDTH 560.0
#define HEIGHT 300.0
#define LEFT 58.0
#define RIGHT 14.0
#define TOP 12.0
#define BOTTOM 34.0
#define POINTS 360 /* points of the curve */
/* resamples for the band of the curve */
#define RESAMPLES 400
#define BARS 48
/* the bar that starts at 1 */
#define MIDDLE 24

typedef struct frame {
    double low_x, high_x, low_y, high_y;
} frame;

static double across(const frame *f, double x)
{
    return LEFT + (x - f->low_x) / (f->high_x - f->low_x) * (WIDTH - LEFT - RIGHT);
}

static double up(const frame *f, double y)
{
    return HEIGHT - BOTTOM - (y - f->low_y) / (f->high_y - f->low_y) * (HEIGHT - TOP - BOTTOM);
}

static double place(double speedup)
{
    return speedup <= 1 ? speedup : 1 + log2(speedup);
}

static double placed(double x)
{
    return x <= 1 ? x : exp2(x - 1);
}

static void begin(kf_buffer *out, const char *label)
{
    kf_buffer_format(out, "<svg viewBox=\"0 0 %g %g\" role=\"img\" aria-label=\"%s\">\n", WIDTH,
                     HEIGHT, label);
}

static void tick_x(kf_buffer *out, const frame *f, double x, const char *text)
{
    kf_buffer_format(out,
                     "<path class=\"grid\" d=\"M%.1f %.1fV%.1f\"/><text x=\"%.1f\" y=\"%.1f\" "
                     "text-anchor=\"middle\">%s</text>\n",
                     across(f, x), TOP, HEIGHT - BOTTOM, across(f, x), HEIGHT - BOTTOM + 20, text);
}

static void tick_y(kf_buffer *out, const frame *f, double y, const char *text)
{
    kf_buffer_format(out,
                     "<path class=\"grid\" d=\"M%.1f %.1fH%.1f\"/><text x=\"%.1f\" y=\"%.1f\" "
                     "text-anchor=\"end\">%s</text>\n",
                     LEFT, up(f, y), WIDTH - RIGHT, LEFT - 7, up(f, y) + 4, text);
}

static void empty(kf_buffer *out)
{
    kf_buffer_string(out, "<p class=\"empty\">No problem was solved.</p>\n");
}

/* ---- fast_p ---------------------------------------------------------------------------------- */

static double fastest(const kf_bench_result *result)
{
    double most = 0;
    for (size_t i = 0; i < result->count; i++)
        if (result->rows[i].best.speedup.value > most) most = result->rows[i].best.speedup.value;
    return most;
}

static void speedup_ticks(kf_buffer *out, const frame *f)
{
    char text[32];
    tick_x(out, f, 0, "0");
    if (f->high_x < 6) tick_x(out, f, 0.5, "0.5");
    int octaves = (int)ceil(f->high_x - 1), step = octaves > 8 ? 2 : 1;
    for (int i = 0; i <= octaves && 1 + i <= f->high_x; i += step) {
        snprintf(text, sizeof text, "%gx", exp2(i));
        tick_x(out, f, 1 + i, text);
    }
}

void kf_chart_curve(const kf_bench_result *result, kf_buffer *out)
{
    double most = fastest(result);
    if (!(most > 0)) return empty(out);
    frame f = {0, fmax(2, place(most * 1.1)), 0, 1};
    kf_score_options options = result->scoring;
    kf_autobuffer line = {0}, low = {0}, all = {0};
    char back[POINTS + 1][32];
    options.resamples = RESAMPLES;
    begin(out, "fast_p over p");
    for (int i = 0; i <= 4; i++) {
        static const char *const shares[] = {"0", "25 %", "50 %", "75 %", "100 %"};
        tick_y(out, &f, i / 4.0, shares[i]);
    }
    speedup_ticks(out, &f);
    for (int i = 0; i <= POINTS; i++) {
        double x = f.high_x * i / POINTS;
        kf_interval share = kf_score_fast(result->outcomes, result->count, placed(x), 1, &options);
        kf_buffer_format(&line, "%s%.1f %.1f", i ? "L" : "M", across(&f, x), up(&f, share.value));
        kf_buffer_format(&low, "%s%.1f %.1f", i ? "L" : "M", across(&f, x),
                         up(&f, isnan(share.high) ? share.value : share.high));
        snprintf(back[i], sizeof back[i], "L%.1f %.1f", across(&f, x),
                 up(&f, isnan(share.low) ? share.value : share.low));
    }
    for (int i = POINTS; i >= 0; i--) kf_buffer_string(&low, back[i]);
    size_t most_samples = 0;
    for (size_t i = 0; i < result->count && result->setup.independent; i++)
        if (result->rows[i].count > most_samples) most_samples = result->rows[i].count;
    options.resamples = 2;
    for (int i = 0; i <= POINTS && most_samples > 1; i++) {
        double x = f.high_x * i / POINTS;
        double share =
            kf_score_fast(result->outcomes, result->count, placed(x), most_samples, &options).value;
        kf_buffer_format(&all, "%s%.1f %.1f", i ? "L" : "M", across(&f, x), up(&f, share));
    }
    kf_buffer_format(out,
                     "<path class=\"band\" d=\"%sZ\"/><path class=\"one\" d=\"M%.1f "
                     "%.1fV%.1f\"/><path class=\"curve\" d=\"%s\"/>\n",
                     low.data ? low.data : "", across(&f, 1), TOP, HEIGHT - BOTTOM,
                     line.data ? line.data : "");
    if (all.data) kf_buffer_format(out, "<path class=\"curve all\" d=\"%s\"/>\n", all.data);
    kf_buffer_string(out, "</svg>\n");
}

/* ---- the distribution ------------------------------------------------------------------------ */

void kf_chart_histogram(const kf_bench_result *result, kf_buffer *out)
{
    int counts[BARS] = {0}, low = BARS, high = -1, most = 0;
    for (size_t i = 0; i < result->count; i++) {
        double speedup = result->rows[i].best.speedup.value;
        if (!(speedup > 0)) continue;
        /* Bars are half an octave wide. The outermost ones hold everything beyond. */
        double bar = floor(2 * log2(speedup)) + MIDDLE;
        int at = bar < 0 ? 0 : bar >= BARS ? BARS - 1 : (int)bar;
        if (++counts[at] > most) most = counts[at];
        if (at < low) low = at;
        if (at > high) high = at;
    }
    if (high < 0) return empty(out);
    low = low > MIDDLE - 2 ? MIDDLE - 2 : low; /* the chart always includes 1 */
    high = high < MIDDLE + 1 ? MIDDLE + 1 : high;
    frame f = {low, high + 1, 0, most * 1.08};
    char text[32];
    begin(out, "Distribution of speedups");
    int step = most > 40 ? 20 : most > 20 ? 10 : most > 8 ? 4 : most > 4 ? 2 : 1;
    for (int y = 0; y <= most; y += step) {
        snprintf(text, sizeof text, "%d", y);
        tick_y(out, &f, y, text);
    }
    for (int i = low; i <= high + 1; i++) {
        int octave = i - MIDDLE;
        if (octave % 2 || (high - low > 16 && octave % 4)) continue;
        snprintf(text, sizeof text, "%gx", exp2(octave / 2.0));
        tick_x(out, &f, i, text);
    }
    for (int i = low; i <= high; i++)
        if (counts[i])
            kf_buffer_format(out,
                             "<rect class=\"bar%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
                             "height=\"%.1f\" rx=\"2\"><title>%d: %.2fx "
                             "to %.2fx</title></rect>\n",
                             i < MIDDLE ? " slow" : "", across(&f, i) + 1, up(&f, counts[i]),
                             across(&f, i + 1) - across(&f, i) - 2, up(&f, 0) - up(&f, counts[i]),
                             counts[i], exp2((i - MIDDLE) / 2.0), exp2((i + 1 - MIDDLE) / 2.0));
    kf_buffer_format(out, "<path class=\"one\" d=\"M%.1f %.1fV%.1f\"/></svg>\n", across(&f, MIDDLE),
                     TOP, HEIGHT - BOTTOM);
}

/* ---- the roofline ---------------------------------------------------------------------------- */

static const char *power_of_ten(int power, char text[32])
{
    static const char *const units[] = {"", "k", "M", "G", "T", "P"};
    if (power < 0 || power > 17)
        snprintf(text, 32, "%g", pow(10, power));
    else
        snprintf(text, 32, "%d%s",
                 power % 3 == 0   ? 1
                 : power % 3 == 1 ? 10
                                  : 100,
                 units[power / 3]);
    return text;
}

bool kf_chart_roofline(const kf_bench_result *result, kf_buffer *out)
{
    double least_x = INFINITY, most_x = -INFINITY, least_y = INFINITY, most_y = -INFINITY;
    double bandwidth = result->setup.bytes_per_second;
    for (size_t i = 0; i < result->count; i++)
        for (size_t k = 0; k < result->rows[i].roof_count; k++) {
            const kf_bench_roof *roof = &result->rows[i].roofs[k];
            if (!(roof->flops > 0) || !(roof->bytes > 0)) continue;
            double x = log10(roof->flops / roof->bytes), y = log10(roof->flops / roof->seconds);
            least_x = fmin(least_x, x), most_x = fmax(most_x, x);
            least_y = fmin(least_y, y), most_y = fmax(most_y, y);
            if (bandwidth > 0) most_y = fmax(most_y, fmin(x + log10(bandwidth), y + 2));
        }
    if (!(most_x >= least_x)) return false;
    frame f = {floor(least_x - 0.1), ceil(most_x + 0.1), floor(least_y - 0.1), ceil(most_y + 0.1)};
    char text[32];
    begin(out, "Roofline");
    for (int x = (int)f.low_x; x <= f.high_x; x++) tick_x(out, &f, x, power_of_ten(x, text));
    for (int y = (int)f.low_y; y <= f.high_y; y++) tick_y(out, &f, y, power_of_ten(y, text));
    /* the line y = x + log(bandwidth), clipped to the frame */
    if (bandwidth > 0) {
        double shift = log10(bandwidth), from = fmax(f.low_x, f.low_y - shift),
               to = fmin(f.high_x, f.high_y - shift);
        if (from < to)
            kf_buffer_format(out, "<path class=\"roof\" d=\"M%.1f %.1fL%.1f %.1f\"/>\n",
                             across(&f, from), up(&f, from + shift), across(&f, to),
                             up(&f, to + shift));
    }
    for (size_t i = 0; i < result->count; i++)
        for (size_t k = 0; k < result->rows[i].roof_count; k++) {
            const kf_bench_roof *roof = &result->rows[i].roofs[k];
            if (!(roof->flops > 0) || !(roof->bytes > 0)) continue;
            kf_buffer_format(out, "<circle class=\"dot\" cx=\"%.1f\" cy=\"%.1f\" r=\"5\"><title>",
                             across(&f, log10(roof->flops / roof->bytes)),
                             up(&f, log10(roof->flops / roof->seconds)));
            kf_html_text(out, result->rows[i].task);
            kf_buffer_string(out, ", ");
            kf_html_text(out, roof->workload);
            kf_buffer_string(out, "</title></circle>\n");
        }
    kf_buffer_string(out, "</svg>\n");
    return true;
}
