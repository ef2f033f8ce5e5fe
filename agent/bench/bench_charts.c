/* Charts as SVG. They are drawn here and not in the browser, so that the page shows them without
 * scripts and tests can read them.
 *
 * The axis of speedups is linear from 0 to 1 and logarithmic above. So slower and faster get equal
 * room, and 0, the start of fast_p, is on it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench_charts.h"
#include "html_text.h"
#include "kforge/list.h"
#include "table.h"

#define WIDTH 560.0
#define HEIGHT 300.0
#define LEFT 58.0
#define RIGHT 14.0
#define TOP 12.0
#define BOTTOM 34.0
#define POINTS 360 /* points of the curve */
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
                     across(f, x), TOP, HEIGHT - BOTTOM, across(f, x), HEIGHT - BOTTOM + 22, text);
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
    kf_autobuffer line = {0}, low = {0}, all = {0};
    char back[POINTS + 1][32];
    begin(out, "fast_p over p");
    for (int i = 0; i <= 4; i++) {
        static const char *const shares[] = {"0", "25 %", "50 %", "75 %", "100 %"};
        tick_y(out, &f, i / 4.0, shares[i]);
    }
    speedup_ticks(out, &f);
    for (int i = 0; i <= POINTS; i++) {
        double x = f.high_x * i / POINTS;
        kf_interval share =
            kf_score_fast(result->outcomes, result->count, placed(x), 1, &result->scoring);
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
    for (int i = 0; i <= POINTS && most_samples > 1; i++) {
        double x = f.high_x * i / POINTS;
        double share =
            kf_score_fast(result->outcomes, result->count, placed(x), most_samples, NULL).value;
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

/* ---- the forest ------------------------------------------------------------------------------ */

/* The problems that have a speedup, the fastest first. */
typedef struct forest {
    const kf_bench_row **rows;
    size_t count;
    /* Ends of the axis. */
    double low, high;
} forest;

static int compare_rows(const void *a, const void *b)
{
    double x = (*(const kf_bench_row *const *)a)->best.speedup.value,
           y = (*(const kf_bench_row *const *)b)->best.speedup.value;
    return (x < y) - (x > y);
}

/* of the axis, as a factor of the speedup */
#define LONGEST_WHISKER 8
/* least distance of two labels in percent of the axis, and on a narrow page */
#define LABEL_PERCENT 19
#define NARROW_LABEL_PERCENT 36
/* Labels nearer to an end of the axis end or start there. */
#define LABEL_END_PERCENT 8
/* the tick of 1 */
#define FOREST_ONE 18

static forest forest_of(const kf_bench_result *result)
{
    forest f = {.rows = calloc(result->count + 1, sizeof(kf_bench_row *)), .low = 1, .high = 1};
    for (size_t i = 0; f.rows && i < result->count; i++) {
        const kf_interval *speedup = &result->rows[i].best.speedup;
        if (!(speedup->value > 0)) continue;
        f.rows[f.count++] = &result->rows[i];
        /* A longer whisker is cut, so that one wide interval does not press the others together. */
        f.low = fmin(f.low, fmax(speedup->value / LONGEST_WHISKER, speedup->low));
        f.high = fmax(f.high, fmin(speedup->value * LONGEST_WHISKER, speedup->high));
    }
    f.low /= 1.1, f.high *= 1.1;
    if (f.rows) qsort(f.rows, f.count, sizeof *f.rows, compare_rows);
    return f;
}

/* Returns the place of a speedup in percent of the axis, which is logarithmic. */
static double forest_place(const forest *f, double speedup)
{
    return 100 * fmax(0, fmin(1, log(speedup / f->low) / log(f->high / f->low)));
}

/* Returns a tick of the axis: 1, 1.5, 2, 3, 5 or 7 times a power of ten. A long axis has only the
 * powers of ten and their halves. 0 for no tick. */
static double forest_tick(const forest *f, int index)
{
    static const double factors[] = {1, 1.5, 2, 3, 5, 7};
    double octaves = log2(f->high / f->low),
           tick = factors[index % 6] * pow(10, floor(index / 6.0) - 3);
    bool is_coarse = index % 6 == 0 || index % 6 == 4;
    return tick < f->low || tick > f->high || (octaves > 4 && !is_coarse) ? 0 : tick;
}

static void forest_ticks(const forest *f, bool labels, kf_buffer *out)
{
    double last = -LABEL_PERCENT, narrow = -NARROW_LABEL_PERCENT, one = forest_place(f, 1);
    for (int i = 0; i < 48; i++) {
        double tick = forest_tick(f, i), x = tick > 0 ? forest_place(f, tick) : 0;
        if (!(tick > 0)) continue;
        /* The label of 1 always stands. */
        if (labels && i != FOREST_ONE &&
            (x - last < LABEL_PERCENT || fabs(x - one) < LABEL_PERCENT))
            continue;
        bool stays = i == FOREST_ONE ||
                     (x - narrow >= NARROW_LABEL_PERCENT && fabs(x - one) >= NARROW_LABEL_PERCENT);
        if (labels) last = x;
        if (labels && stays) narrow = x;
        if (labels)
            kf_buffer_format(out, "<text%s x=\"%.2f%%\" y=\"16\" text-anchor=\"%s\">%gx</text>",
                             stays ? "" : " class=\"minor\"", x,
                             x < LABEL_END_PERCENT         ? "start"
                             : x > 100 - LABEL_END_PERCENT ? "end"
                                                           : "middle",
                             tick);
        else
            kf_buffer_format(out,
                             "<line class=\"%s\" x1=\"%.2f%%\" x2=\"%.2f%%\" y1=\"0\" "
                             "y2=\"100%%\"/>",
                             i == FOREST_ONE ? "one" : "grid", x, x);
    }
}

static void write_forest_row(const forest *f, const kf_bench_row *row, kf_buffer *out)
{
    kf_interval s = row->best.speedup;
    char value[KF_FIGURE], interval[KF_FIGURE];
    double low = isnan(s.low) ? s.value : s.low, high = isnan(s.high) ? s.value : s.high;
    kf_buffer_string(out, "<tr><th scope=\"row\">");
    kf_html_text(out, row->task);
    kf_buffer_string(out, "</th><td><svg class=\"forest\" aria-hidden=\"true\">");
    forest_ticks(f, false, out);
    kf_buffer_format(
        out,
        "<line class=\"whisker\" x1=\"%.2f%%\" x2=\"%.2f%%\" y1=\"50%%\" "
        "y2=\"50%%\"/><circle class=\"dot%s\" cx=\"%.2f%%\" cy=\"50%%\" r=\"4.5\"/>"
        "%s%s</svg></td><td class=\"number\">%s <small>%s</small></td></tr>\n",
        forest_place(f, low), forest_place(f, high), low > 1 ? "" : " unsure",
        forest_place(f, s.value), low < f->low ? "<text x=\"0\" y=\"16\">\xe2\x80\xb9</text>" : "",
        high > f->high ? "<text x=\"100%\" y=\"16\" text-anchor=\"end\">\xe2\x80\xba</text>" : "",
        kf_figure_speedup(s, value), kf_figure_interval(s, interval));
}

void kf_chart_forest(const kf_bench_result *result, kf_buffer *out)
{
    forest f = forest_of(result);
    if (f.count) {
        kf_buffer_string(out, "<section>\n<h2>Speedups with their intervals</h2>\n<div "
                              "class=\"scroll\"><table class=\"forest\"><thead><tr><th "
                              "scope=\"col\">Problem</th><th scope=\"col\" aria-label=\"Interval\">"
                              "<svg class=\"forest\" aria-hidden=\"true\">");
        forest_ticks(&f, true, out);
        kf_buffer_string(out, "</svg></th><th scope=\"col\" class=\"number\">Best, 95 "
                              "%</th></tr></thead>\n<tbody>\n");
        for (size_t i = 0; i < f.count; i++) write_forest_row(&f, f.rows[i], out);
        kf_buffer_string(out, "</tbody></table></div>\n</section>\n");
    }
    free(f.rows);
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

/* True if the chart can show the point. */
static bool is_charted(const kf_bench_roof *roof)
{
    return roof->flops > 0 && roof->bytes > 0;
}

/* The ceilings as powers of ten; NaN if unknown. */
typedef struct ceilings {
    double memory, arithmetic;
} ceilings;

static ceilings ceilings_of(const kf_bench_result *result)
{
    double memory = result->setup.bytes_per_second, arithmetic = result->setup.flops_per_second;
    return (ceilings){memory > 0 ? log10(memory) : NAN, arithmetic > 0 ? log10(arithmetic) : NAN};
}

/* Returns the frame around all points, and the ridge of the roof if it is near. */
static bool roof_frame(const kf_bench_result *result, const ceilings *c, frame *f)
{
    frame all = {INFINITY, -INFINITY, INFINITY, -INFINITY};
    for (size_t i = 0; i < result->count; i++)
        for (size_t k = 0; k < result->rows[i].roof_count; k++) {
            const kf_bench_roof *roof = &result->rows[i].roofs[k];
            if (!is_charted(roof)) continue;
            double x = log10(roof->flops / roof->bytes), y = log10(roof->flops / roof->seconds);
            all.low_x = fmin(all.low_x, x), all.high_x = fmax(all.high_x, x);
            all.low_y = fmin(all.low_y, y), all.high_y = fmax(all.high_y, y);
            if (!isnan(c->memory)) all.high_y = fmax(all.high_y, fmin(x + c->memory, y + 2));
        }
    if (!(all.high_x >= all.low_x)) return false;
    if (!isnan(c->arithmetic)) all.high_y = fmax(all.high_y, c->arithmetic);
    if (!isnan(c->arithmetic) && !isnan(c->memory))
        all.high_x = fmax(all.high_x, c->arithmetic - c->memory + 0.3);
    *f = (frame){floor(all.low_x - 0.1), ceil(all.high_x + 0.1), floor(all.low_y - 0.1),
                 ceil(all.high_y + 0.1)};
    return true;
}

/* "3.35 T" */
static const char *scaled(double power, char text[32])
{
    static const char *const units[] = {"", " k", " M", " G", " T", " P"};
    int unit = (int)fmax(0, fmin(5, floor(power / 3)));
    snprintf(text, 32, "%.3g%s", pow(10, power - 3 * unit), units[unit]);
    return text;
}

/* columns of the picture that a ceiling's name takes on a narrow page */
#define CEILING_NAME 130

/* Draws the name of the line y = x + memory: to the left of it, where no point is, or below it if
 * there is no room. */
static void name_memory(kf_buffer *out, const frame *f, double memory, double from, double to)
{
    char text[32];
    double x = from + 0.6 * (to - from);
    bool fits = across(f, x) - LEFT > CEILING_NAME;
    if (!fits) x = from + 0.1 * (to - from);
    kf_buffer_format(out, "<text x=\"%.1f\" y=\"%.1f\"%s>memory %sB/s</text>\n",
                     across(f, x) - (fits ? 8 : 0), up(f, x + memory) + (fits ? 0 : 20),
                     fits ? " text-anchor=\"end\"" : "", scaled(memory, text));
}

/* Draws the line y = x + memory up to the arithmetic, clipped to the frame, and its name. */
static void draw_roof(kf_buffer *out, const frame *f, const ceilings *c)
{
    char text[32];
    double top = isnan(c->arithmetic) ? f->high_y : fmin(f->high_y, c->arithmetic),
           from = fmax(f->low_x, f->low_y - c->memory), to = fmin(f->high_x, top - c->memory);
    if (!isnan(c->memory) && from < to) {
        kf_buffer_format(out, "<path class=\"roof\" d=\"M%.1f %.1fL%.1f %.1f\"/>", across(f, from),
                         up(f, from + c->memory), across(f, to), up(f, to + c->memory));
        name_memory(out, f, c->memory, from, to);
    }
    if (isnan(c->arithmetic)) return;
    double ridge = isnan(c->memory) ? f->low_x : fmax(f->low_x, c->arithmetic - c->memory);
    kf_buffer_format(out,
                     "<path class=\"roof\" d=\"M%.1f %.1fH%.1f\"/><text x=\"%.1f\" y=\"%.1f\" "
                     "text-anchor=\"end\">arithmetic %sFLOP/s</text>\n",
                     across(f, ridge), up(f, c->arithmetic), WIDTH - RIGHT, WIDTH - RIGHT - 2,
                     up(f, c->arithmetic) - 6, scaled(c->arithmetic, text));
}

/* a digit of a label, and its height */
#define DIGIT 7.5
#define LABEL_HEIGHT 13
/* numbers in a label of several points; the others are counted */
#define LABEL_NUMBERS 3

/* The labels of points. Points share a label where two would touch. */
typedef struct point_label {
    double x, y;
    size_t count;
    char text[96];
} point_label;

typedef struct point_labels {
    point_label *items;
    size_t count;
} point_labels;

/* Returns the label that one at this place would touch. */
static point_label *label_at(const point_labels *labels, double x, double y, double width)
{
    for (size_t i = 0; i < labels->count; i++) {
        point_label *label = &labels->items[i];
        double own = DIGIT * (double)strlen(label->text);
        if (x < label->x + own && label->x < x + width && fabs(y - label->y) < LABEL_HEIGHT)
            return label;
    }
    return NULL;
}

static void add_label(point_labels *labels, double x, double y, size_t number)
{
    char text[24];
    snprintf(text, sizeof text, "%zu", number);
    point_label *label = label_at(labels, x, y, DIGIT * (double)strlen(text));
    if (!label) {
        if (!kf_list_grow(&labels->items, labels->count)) return;
        label = &labels->items[labels->count++];
        *label = (point_label){.x = x, .y = y, .count = 1};
        snprintf(label->text, sizeof label->text, "%s", text);
        return;
    }
    size_t size = strlen(label->text);
    if (++label->count <= LABEL_NUMBERS)
        snprintf(label->text + size, sizeof label->text - size, ", %s", text);
    else {
        char *more = strchr(label->text, '+');
        if (more) more[-1] = '\0';
        size = strlen(label->text);
        snprintf(label->text + size, sizeof label->text - size, " +%zu",
                 label->count - LABEL_NUMBERS);
    }
}

static void draw_labels(kf_buffer *out, const point_labels *labels)
{
    for (size_t i = 0; i < labels->count; i++) {
        const point_label *label = &labels->items[i];
        bool fits = label->x + DIGIT * (double)strlen(label->text) < WIDTH;
        kf_buffer_format(out, "<text class=\"point\" x=\"%.1f\" y=\"%.1f\"%s>%s</text>\n",
                         fits ? label->x : label->x - 14, label->y,
                         fits ? "" : " text-anchor=\"end\"", label->text);
    }
}

static void draw_roof_point(kf_buffer *out, const frame *f, const kf_bench_row *row,
                            const kf_bench_roof *roof, size_t number, point_labels *labels)
{
    double x = across(f, log10(roof->flops / roof->bytes)),
           y = up(f, log10(roof->flops / roof->seconds));
    kf_buffer_format(out, "<circle class=\"dot\" cx=\"%.1f\" cy=\"%.1f\" r=\"5\"><title>", x, y);
    kf_html_text(out, row->task);
    kf_buffer_string(out, ", ");
    kf_html_text(out, roof->workload);
    kf_buffer_string(out, "</title></circle>\n");
    add_label(labels, x + 7, y + 4, number);
}

bool kf_chart_roofline(const kf_bench_result *result, kf_buffer *out)
{
    ceilings c = ceilings_of(result);
    frame f;
    char text[32];
    size_t number = 0;
    point_labels labels = {0};
    if (!roof_frame(result, &c, &f)) return false;
    begin(out, "Roofline");
    for (int x = (int)f.low_x; x <= f.high_x; x++) tick_x(out, &f, x, power_of_ten(x, text));
    for (int y = (int)f.low_y; y <= f.high_y; y++) tick_y(out, &f, y, power_of_ten(y, text));
    draw_roof(out, &f, &c);
    for (size_t i = 0; i < result->count; i++)
        for (size_t k = 0; k < result->rows[i].roof_count; k++) {
            number++;
            if (is_charted(&result->rows[i].roofs[k]))
                draw_roof_point(out, &f, &result->rows[i], &result->rows[i].roofs[k], number,
                                &labels);
        }
    draw_labels(out, &labels);
    free(labels.items);
    kf_buffer_string(out, "</svg>\n");
    return true;
}
