/* The synthetic model of bench_search: reads a prompt on stdin and writes a reply on stdout. It
 * uses only the prompt, the space of variants that it can write (search_space.h) and random
 * numbers. It does not model a model's quality, but a proposer's response to context: the
 * benchmark compares strategies on the same proposer.
 *
 * Its behaviour, with the rates defined below:
 *   a draft: draws every choice from the space's priors. A prior says how common a choice
 *       is in a first attempt, not how fast it is. The priors were written before any measurement.
 *       On the CPU device, several popular choices are slow.
 *   a parent: keeps it and changes one or two choices. It picks the choices and the new
 *       values by the priors alone.
 *   exemplars with speedups: for each choice in which the fastest differs from a slower one,
 *       it takes the fastest's value with INSIGHT, since a model can compare numbers. Then it
 *       changes a choice as above. With INSIGHT it does not return to a slower one's value.
 *   two parents: takes each choice from one or the other.
 *   "another algorithm": takes another mapping of the work, the first choice of every space, and
 *       draws each other choice anew with 0.25. With `bench_search --rethink any` it draws any one
 *       choice anew, like a model that does not see which one matters.
 *   notes, negatives: avoids a value that is reported to fail with OBEDIENCE. With the same
 *       rate it takes a value that is reported to pay.
 *   a critic's diagnosis: makes the named change with OBEDIENCE and no other change. The
 *       critic, also this program, names a change at random as the model would make it. A critic
 *       that knew the answer would decide the comparison.
 *   mistakes: every choice that differs from the correct source in the prompt (for a draft:
 *       from the plain baseline) fails to compile with COMPILE and is wrong with WRONG. Any
 *       rewriting is wrong with CARELESS. CHEAT of the candidates cheat. So a bold rewrite fails
 *       more often than a small edit. After a repair prompt with the error, REPAIRED of the
 *       mistakes are fixed. For the others it draws another one.
 *   duplicates: DUPLICATE of the replies are the unchanged parent.
 *   tunables: DECLARED of the candidates declare them.
 *
 * Sources of the rates. KernelBench (Ouyang et al. 2025, arXiv:2502.10517): one-shot samples fail
 * to compile or run, or are wrong, in the majority of cases for weaker models and in about half
 * for the strongest. COMPILE and WRONG are set so that about half of the drafts fail here. With
 * the error in the prompt, models fix most mistakes over several turns (section on iterative
 * refinement): 60 % a turn. Cheating: CUDA-L1 reports 82 of 250 (33 %) final kernels of an early
 * run that gamed the timer after optimising for it. A model that was not trained on the reward and
 * gets the rules cheats less: 3 %. Duplicates: ShinkaEvolve (arXiv:2509.19349) rejects near copies
 * before evaluating them. It gives no rate. 8 % is a guess, and so are INSIGHT, OBEDIENCE and
 * DECLARED. */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "kforge/cleanup.h"
#include "population.h"
#include "search_table.h"

#define COMPILE 0.14 /* a choice that is made differently */
#define WRONG 0.14
#define CARELESS 0.05
#define CHEAT 0.03
#define REPAIRED 0.60
#define DUPLICATE 0.08
#define INSIGHT 0.65
#define OBEDIENCE 0.70
#define DECLARED 0.80
#define PROMPT_BYTES (8u << 20)

typedef struct shown {
    variant v;
    double speedup; /* 0 not said */
} shown;

typedef struct seen {
    variant parent;
    bool has_parent, critic, repair, rethink, cross;
    double parent_speedup;
    shown exemplars[16]; /* and the best, and the other parent of a crossover */
    int count;
    variant other;
    bool has_other;
    int bad[AXES], good[AXES]; /* index of a value that notes say failed or paid; -1 none */
    int diagnosed_axis, diagnosed_value;
} seen;

/* ---- reading --------------------------------------------------------------------------------- */

/* "ROW 0 to 1" as the model words its moves. */
static void read_move(const space *s, const char *line, int list[AXES])
{
    for (int i = 0; i < s->count; i++) {
        char name[64];
        int value;
        snprintf(name, sizeof name, "set %s to ", s->axes[i].name);
        const char *at = strstr(line, name), *end = strchr(line, '\n');
        if (!at || (end && at > end) || sscanf(at + strlen(name), "%d", &value) != 1) continue;
        for (int k = 0; k < s->axes[i].count; k++)
            if (s->axes[i].values[k] == value) list[i] = k;
    }
}

static void read_notes(const space *s, const char *prompt, seen *p)
{
    for (const char *at = prompt; (at = strchr(at, '\n')); at++) {
        if (strncmp(at + 1, "paid, ", 6) == 0) read_move(s, at + 1, p->good);
        if (strncmp(at + 1, "failed: ", 8) == 0 || strncmp(at + 1, "did not pay, ", 13) == 0)
            read_move(s, at + 1, p->bad);
    }
}

/* The speedup said last before `at`, behind the last heading. */
static double speedup_before(const char *prompt, const char *at)
{
    double speedup = 0;
    const char *heading = prompt;
    for (const char *h = prompt; (h = strstr(h, "\n#")) && h < at; h++) heading = h;
    for (const char *w = heading; (w = strstr(w, "peedup")) && w < at; w++) {
        const char *digit = w + strcspn(w, "0123456789\n");
        double value;
        if (digit < at && sscanf(digit, "%lf", &value) == 1 && value > 0) speedup = value;
    }
    return speedup;
}

static bool heading_is(const char *prompt, const char *at, const char *word)
{
    const char *heading = prompt;
    for (const char *h = prompt; (h = strstr(h, "\n#")) && h < at; h++) heading = h;
    const char *found = strstr(heading, word);
    return found && found < at && !memchr(heading + 1, '\n', (size_t)(found - heading - 1));
}

static void read_sources(const space *s, const char *prompt, seen *p)
{
    for (const char *at = prompt; (at = strstr(at, "// variant: ")); at++) {
        shown one = {.speedup = speedup_before(prompt, at)};
        if (!space_parse(s, at, &one.v)) continue;
        /* What a tunable has been set to stands in the #define, not in the first line. */
        const char *end = strstr(at, "```");
        for (int i = 0; i < s->count; i++) {
            char define[64], flag[96];
            int value;
            snprintf(define, sizeof define, "\n#define %s ", s->axes[i].name);
            const char *here = s->axes[i].tunable ? strstr(at, define) : NULL;
            if (!here || (end && here > end) || sscanf(here + strlen(define), "%d", &value) != 1)
                continue;
            snprintf(flag, sizeof flag, "-D%s=%d", s->axes[i].name, value);
            space_flag(s, &one.v, flag);
        }
        bool other = heading_is(prompt, at, "Second parent");
        bool main_one = heading_is(prompt, at, "Candidate to") ||
                        heading_is(prompt, at, "Candidate that") ||
                        heading_is(prompt, at, "First parent") ||
                        heading_is(prompt, at, "The best of one idea") ||
                        heading_is(prompt, at, "The fastest of them");
        if (main_one && !p->has_parent) {
            p->parent = one.v;
            p->parent_speedup = one.speedup;
            p->has_parent = true;
        } else if (other) {
            p->other = one.v;
            p->has_other = true;
        } else if (p->count < 16) {
            p->exemplars[p->count++] = one;
        }
    }
}

static void read_prompt(const space *s, const char *prompt, seen *p)
{
    *p = (seen){.diagnosed_axis = -1};
    for (int i = 0; i < AXES; i++) p->bad[i] = p->good[i] = -1;
    read_sources(s, prompt, p);
    read_notes(s, prompt, p);
    p->critic = strstr(prompt, "You do not write code.");
    p->repair = strstr(prompt, "## Candidate that ");
    p->rethink = strstr(prompt, "## The best of one idea");
    p->cross = p->has_other;
    const char *diagnosis = strstr(prompt, "modification_plan");
    int list[AXES];
    for (int i = 0; i < AXES; i++) list[i] = -1;
    if (diagnosis && !p->critic) read_move(s, diagnosis, list);
    for (int i = 0; i < s->count; i++)
        if (list[i] >= 0) p->diagnosed_axis = i, p->diagnosed_value = list[i];
}

/* ---- answering ------------------------------------------------------------------------------- */

static bool chance(kf_draws *draws, double probability)
{
    return kf_draw_fraction(draws) < probability;
}

static int draw_value(const space *s, const seen *p, int i, int not, kf_draws *draws)
{
    const axis *a = &s->axes[i];
    double weights[CHOICES], sum = 0;
    for (int k = 0; k < a->count; k++) {
        weights[k] = k == not ? 0 : a->prior[k];
        if (k == p->bad[i]) weights[k] *= 1 - OBEDIENCE;
        sum += weights[k];
    }
    if (p->good[i] >= 0 && p->good[i] != not &&chance(draws, OBEDIENCE)) return p->good[i];
    double left = kf_draw_fraction(draws) * sum;
    int chosen = not ;
    for (int k = 0; k < a->count; k++) {
        if (!(weights[k] > 0)) continue;
        chosen = k;
        if ((left -= weights[k]) < 0) break;
    }
    return chosen < 0 ? 0 : chosen;
}

/* A slower candidate that is shown does it that way, and the parent does not. */
static bool was_slower(const seen *p, int i, int value)
{
    for (int k = 0; k < p->count; k++)
        if (p->has_parent && p->exemplars[k].speedup > 0 &&
            p->exemplars[k].speedup < p->parent_speedup && p->exemplars[k].v.index[i] == value &&
            p->parent.index[i] != value)
            return true;
    return false;
}

static void change_one(const space *s, const seen *p, variant *v, kf_draws *draws)
{
    for (int tries = 0; tries < 4; tries++) {
        int i = (int)(kf_draw_fraction(draws) * s->count),
            value = draw_value(s, p, i, v->index[i], draws);
        if (was_slower(p, i, value) && chance(draws, INSIGHT)) continue; /* another idea */
        v->index[i] = value;
        return;
    }
}

/* Differences between the fastest shown and a slower one, read with INSIGHT. */
static void learn(const space *s, const seen *p, variant *v, kf_draws *draws)
{
    shown all[17];
    int count = 0, fastest = -1;
    if (p->has_parent && p->parent_speedup > 0)
        all[count++] = (shown){p->parent, p->parent_speedup};
    for (int i = 0; i < p->count; i++)
        if (p->exemplars[i].speedup > 0) all[count++] = p->exemplars[i];
    for (int i = 0; i < count; i++)
        if (fastest < 0 || all[i].speedup > all[fastest].speedup) fastest = i;
    if (count < 2) return;
    for (int i = 0; i < s->count; i++)
        if (v->index[i] != all[fastest].v.index[i] && chance(draws, INSIGHT))
            v->index[i] = all[fastest].v.index[i];
}

static enum bug draw_mistake(const space *s, const variant *v, const variant *from, kf_draws *draws)
{
    int changed = 0;
    for (int i = 0; i < s->count; i++)
        changed += !s->axes[i].tunable && v->index[i] != from->index[i];
    if (chance(draws, CHEAT)) return BUG_CHEAT;
    bool fails = chance(draws, CARELESS);
    for (int i = 0; i < changed; i++) fails = chance(draws, COMPILE + WRONG) || fails;
    return !fails ? BUG_NONE : chance(draws, COMPILE / (COMPILE + WRONG)) ? BUG_COMPILE : BUG_WRONG;
}

/* One of the choices that are no tunables. */
static int any_move(const space *s, kf_draws *draws)
{
    int moves = 0;
    for (int i = 0; i < s->count; i++) moves += !s->axes[i].tunable;
    int left = (int)(kf_draw_fraction(draws) * moves);
    for (int i = 0; i < s->count; i++)
        if (!s->axes[i].tunable && left-- == 0) return i;
    return 0;
}

static variant make(const space *s, const seen *p, bool any, kf_draws *draws)
{
    variant v = p->parent, plain = space_naive(s);
    v.bug = BUG_NONE;
    bool draft = !p->has_parent;
    if (draft) {
        for (int i = 0; i < s->count; i++) v.index[i] = draw_value(s, p, i, -1, draws);
    } else if (p->repair) {
        v.bug = chance(draws, REPAIRED)                      ? BUG_NONE
                : chance(draws, COMPILE / (COMPILE + WRONG)) ? BUG_COMPILE
                                                             : BUG_WRONG;
        return v;
    } else if (p->diagnosed_axis >= 0 && chance(draws, OBEDIENCE)) {
        v.index[p->diagnosed_axis] = p->diagnosed_value;
    } else if (p->rethink) {
        int other = any ? any_move(s, draws) : 0;
        for (int i = 0; i < s->count; i++)
            if (i == other || chance(draws, 0.25))
                v.index[i] = draw_value(s, p, i, v.index[i], draws);
    } else {
        if (chance(draws, DUPLICATE)) return v;
        if (p->cross)
            for (int i = 0; i < s->count; i++)
                if (chance(draws, 0.5)) v.index[i] = p->other.index[i];
        learn(s, p, &v, draws);
        if (!p->cross || chance(draws, 0.5)) change_one(s, p, &v, draws);
        if (chance(draws, 0.3)) change_one(s, p, &v, draws);
    }
    v.bug = draw_mistake(s, &v, draft ? &plain : &p->parent, draws);
    return v;
}

static void say_move(const space *s, const seen *p, const variant *v)
{
    printf("Move:");
    int said = 0;
    for (int i = 0; i < s->count && p->has_parent; i++)
        if (v->index[i] != p->parent.index[i])
            printf("%s set %s to %d (%s)", said++ ? "," : "", s->axes[i].name,
                   s->axes[i].values[v->index[i]], s->axes[i].words[v->index[i]]);
    printf("%s\n\n", said ? "" : p->has_parent ? " mend what was found" : " a first draft");
}

static void criticise(const space *s, const seen *p, kf_draws *draws)
{
    variant v = p->parent;
    for (int tries = 0; tries < 8 && memcmp(&v, &p->parent, sizeof v) == 0; tries++)
        change_one(s, p, &v, draws);
    if (p->repair) {
        printf("{\"critical_issue\": \"the mistake that was found\", \"minimal_fix_hint\": "
               "\"remove it\"}\n");
        return;
    }
    for (int i = 0; i < s->count; i++)
        if (v.index[i] != p->parent.index[i])
            printf("{\"bottleneck\": \"%s\", \"modification_plan\": \"set %s to %d\"}\n",
                   s->axes[i].name, s->axes[i].name, s->axes[i].values[v.index[i]]);
}

/* How many calls there were before, from a file: two equal prompts get different replies. */
static unsigned long long count_call(const char *state)
{
    unsigned long long count = 0;
    char text[32] = "";
    kf_autoclose int fd = open(state, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || flock(fd, LOCK_EX) != 0) return 0;
    if (read(fd, text, sizeof text - 1) > 0) count = strtoull(text, NULL, 10);
    int size = snprintf(text, sizeof text, "%-20llu", count + 1);
    if (pwrite(fd, text, (size_t)size, 0) != size) return count;
    return count;
}

int answer(const char *task, unsigned long long seed, const char *state, bool any)
{
    space s;
    kf_error error = {0};
    kf_autobuffer prompt = {.limit = PROMPT_BYTES};
    if (!space_read(&s, task, &error)) return fprintf(stderr, "%s\n", error.text), 3;
    char block[1 << 16];
    for (size_t got; (got = fread(block, 1, sizeof block, stdin)) > 0;)
        kf_buffer_append(&prompt, block, got);
    kf_draws draws = {.state =
                          seed * 0x9e3779b97f4a7c15ull + count_call(state) * 0xd1342543de82ef95ull};
    kf_draw_bits(&draws);
    seen p;
    read_prompt(&s, prompt.data ? prompt.data : "", &p);
    if (p.critic) {
        criticise(&s, &p, &draws);
    } else {
        variant v = make(&s, &p, any, &draws);
        kf_autobuffer source = {0};
        space_emit(&s, &v, chance(&draws, DECLARED), &source);
        say_move(&s, &p, &v);
        printf("```cuda\n%s```\n", source.data ? source.data : "");
    }
    space_free(&s);
    return 0;
}
