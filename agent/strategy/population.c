/* One array holds the members in the order of their arrival, another one their indices sorted
 * by speedup. */
#include "population.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* prefix sums of the power law, the same for every draw with an exponent */
typedef struct power_law {
    double exponent, sums[KF_POPULATION_VIEW];
    bool known;
} power_law;

struct kf_population {
    /* in the order of arrival */
    kf_member *members;
    /* hashes of their cells */
    uint64_t *cells;
    power_law *power;
    /* indices, the fastest first, without removed members */
    uint32_t *sorted;
    size_t count, sorted_count, capacity;
    /* hash table from candidate to index + 1, open addressing; twice the capacity, a power of
     * two */
    uint32_t *slots;
};

/* ---- random numbers -------------------------------------------------------------------------- */

uint64_t kf_draw_bits(kf_draws *draws)
{
    uint64_t x = draws->state += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

double kf_draw_fraction(kf_draws *draws)
{
    return (double)(kf_draw_bits(draws) >> 11) * 0x1p-53;
}

/* Returns a number below `count`, uniform up to count * 2^-53. */
static size_t draw_below(kf_draws *draws, size_t count)
{
    return (size_t)(kf_draw_fraction(draws) * (double)count);
}

/* ---- members --------------------------------------------------------------------------------- */

kf_population *kf_population_new(void)
{
    kf_population *population = calloc(1, sizeof *population);
    if (population) population->power = calloc(1, sizeof *population->power);
    if (population && population->power) return population;
    free(population);
    return NULL;
}

void kf_population_free(kf_population *population)
{
    if (!population) return;
    free(population->members);
    free(population->cells);
    free(population->power);
    free(population->sorted);
    free(population->slots);
    free(population);
}

static size_t slot_of(const kf_population *p, int64_t candidate)
{
    size_t mask = 2 * p->capacity - 1,
           slot = ((uint64_t)candidate * UINT64_C(0x9e3779b97f4a7c15)) >> 32 & mask;
    while (p->slots[slot] && p->members[p->slots[slot] - 1].candidate != candidate)
        slot = (slot + 1) & mask;
    return slot;
}

static bool grow(kf_population *p)
{
    size_t capacity = p->capacity ? 2 * p->capacity : 64;
    kf_member *members = realloc(p->members, capacity * sizeof *members);
    if (members) p->members = members;
    uint64_t *cells = realloc(p->cells, capacity * sizeof *cells);
    if (cells) p->cells = cells;
    uint32_t *sorted = realloc(p->sorted, capacity * sizeof *sorted);
    if (sorted) p->sorted = sorted;
    uint32_t *slots = calloc(2 * capacity, sizeof *slots);
    if (!members || !cells || !sorted || !slots) {
        free(slots);
        return false;
    }
    free(p->slots);
    p->slots = slots;
    p->capacity = capacity;
    for (size_t i = 0; i < p->count; i++)
        p->slots[slot_of(p, p->members[i].candidate)] = (uint32_t)i + 1;
    return true;
}

/* Returns the place of a member with this speedup and index. */
static size_t place_of(const kf_population *p, double speedup, size_t index)
{
    size_t low = 0, high = p->sorted_count;
    while (low < high) {
        size_t middle = (low + high) / 2, other = p->sorted[middle];
        double value = p->members[other].speedup;
        if (value > speedup || (!(value < speedup) && other < index))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void put_in(kf_population *p, size_t index)
{
    size_t place = place_of(p, p->members[index].speedup, index);
    memmove(p->sorted + place + 1, p->sorted + place,
            (p->sorted_count++ - place) * sizeof *p->sorted);
    p->sorted[place] = (uint32_t)index;
}

static void take_out(kf_population *p, size_t index)
{
    size_t place = place_of(p, p->members[index].speedup, index);
    if (place >= p->sorted_count || p->sorted[place] != index) return;
    memmove(p->sorted + place, p->sorted + place + 1,
            (--p->sorted_count - place) * sizeof *p->sorted);
}

static kf_member *find(const kf_population *p, int64_t candidate)
{
    uint32_t slot = p->capacity ? p->slots[slot_of(p, candidate)] : 0;
    return slot ? &p->members[slot - 1] : NULL;
}

static uint64_t hash_cell(const char *cell)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
    for (; *cell; cell++) hash = (hash ^ (unsigned char)*cell) * UINT64_C(0x100000001b3);
    /* 0 is an empty slot in only_elites. */
    return hash ? hash : 1;
}

bool kf_population_add(kf_population *p, const kf_member *member)
{
    if (find(p, member->candidate) || !(member->speedup > 0)) return true;
    if (p->count == p->capacity && !grow(p)) return false;
    size_t index = p->count++;
    p->members[index] = *member;
    p->cells[index] = hash_cell(member->cell);
    p->slots[slot_of(p, member->candidate)] = (uint32_t)index + 1;
    put_in(p, index);
    return true;
}

void kf_population_update(kf_population *p, int64_t candidate, double speedup)
{
    kf_member *member = find(p, candidate);
    if (!member) return;
    size_t index = (size_t)(member - p->members);
    take_out(p, index);
    member->speedup = speedup;
    if (speedup > 0) put_in(p, index);
}

void kf_population_child(kf_population *p, int64_t parent, bool correct, int most)
{
    kf_member *member = find(p, parent);
    if (!member) return;
    member->failures = correct ? 0 : member->failures + 1;
    if (most > 0 && member->failures >= most && member != kf_population_best(p, -1))
        member->pruned = true;
}

static bool lives_on(const kf_member *m, int island)
{
    return island < 0 || m->island < 0 || m->island == island || m->also == island + 1;
}

void kf_population_migrate(kf_population *p, int islands)
{
    for (int island = 0; island < islands; island++)
        for (size_t i = 0; i < p->sorted_count; i++) {
            kf_member *m = &p->members[p->sorted[i]];
            if (m->island != island) continue;
            m->also = 1 + (island + 1) % islands;
            break;
        }
}

const kf_member *kf_population_find(const kf_population *p, int64_t candidate)
{
    return find(p, candidate);
}

size_t kf_population_size(const kf_population *p)
{
    return p->sorted_count;
}

const kf_member *kf_population_best(const kf_population *p, int island)
{
    for (size_t i = 0; i < p->sorted_count; i++)
        if (lives_on(&p->members[p->sorted[i]], island)) return &p->members[p->sorted[i]];
    return NULL;
}

/* ---- views ----------------------------------------------------------------------------------- */

/* Returns the indices of the view, the fastest first, malloc'd; NULL without memory. */
static uint32_t *view_of(const kf_population *p, const kf_choice *choice, size_t *count)
{
    uint32_t *view = malloc(KF_POPULATION_VIEW * sizeof *view);
    *count = 0;
    size_t most =
        choice->beam && choice->beam < KF_POPULATION_VIEW ? choice->beam : KF_POPULATION_VIEW;
    for (size_t i = 0; view && i < p->sorted_count && *count < most; i++) {
        const kf_member *m = &p->members[p->sorted[i]];
        if (lives_on(m, choice->island) && !m->pruned && m->candidate != choice->not )
            view[(*count)++] = p->sorted[i];
    }
    return view;
}

static size_t draw_rank(size_t count, kf_draws *draws)
{
    size_t rank = (size_t)floor(-log2(1 - kf_draw_fraction(draws)));
    return rank < count ? rank : count - 1;
}

static size_t draw_power(const kf_population *p, size_t count, double exponent, kf_draws *draws)
{
    power_law *power = p->power;
    if (!power->known || power->exponent < exponent || power->exponent > exponent) {
        double sum = 0;
        for (size_t k = 0; k < KF_POPULATION_VIEW; k++)
            power->sums[k] = sum += pow((double)k + 1, -exponent);
        power->exponent = exponent;
        power->known = true;
    }
    double at = kf_draw_fraction(draws) * power->sums[count - 1];
    size_t low = 0, high = count - 1;
    /* Find the first sum above it. */
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (power->sums[middle] > at)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static size_t draw_tournament(size_t count, int size, kf_draws *draws)
{
    size_t best = count - 1;
    for (int i = 0; i < (size > 1 ? size : 1); i++) {
        size_t rank = draw_below(draws, count);
        if (i == 0 || rank < best) best = rank;
    }
    return best;
}

/* Keeps the best of each cell, the fastest first, and returns their number. Cells differ by 64
 * bits of hash. */
static size_t only_elites(const kf_population *p, uint32_t *view, size_t count)
{
    enum { SLOTS = 2 * KF_POPULATION_VIEW };
    uint64_t seen[SLOTS] = {0};
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t cell = p->cells[view[i]];
        size_t slot = cell % SLOTS;
        while (seen[slot] && seen[slot] != cell) slot = (slot + 1) % SLOTS;
        if (seen[slot]) continue;
        seen[slot] = cell;
        view[kept++] = view[i];
    }
    return kept;
}

int64_t kf_population_draw(const kf_population *p, const kf_choice *choice, kf_draws *draws)
{
    size_t count, chosen = 0;
    kf_autofree uint32_t *view = view_of(p, choice, &count);
    if (!view || !count) return 0;
    switch (choice->parents) {
    case KF_PARENTS_RANK: chosen = draw_rank(count, draws); break;
    case KF_PARENTS_POWER: chosen = draw_power(p, count, choice->exponent, draws); break;
    case KF_PARENTS_TOURNAMENT: chosen = draw_tournament(count, choice->size, draws); break;
    case KF_PARENTS_UNIFORM: chosen = draw_below(draws, count); break;
    case KF_PARENTS_GRID:
        count = only_elites(p, view, count);
        chosen = draw_below(draws, count);
        break;
    case KF_PARENTS_LATEST:
    case KF_PARENTS_COUNT:
        for (size_t i = 0; i < count; i++)
            if (view[i] > view[chosen]) chosen = i;
        break;
    }
    return p->members[view[chosen]].candidate;
}

/* ---- contrast -------------------------------------------------------------------------------- */

typedef struct bucket {
    size_t first, count; /* ranks */
    /* mean score, the log2 of the speedup */
    double mean, weight;
} bucket;

/* Cuts the members into buckets: neighbours in the sorted order share one. */
static size_t cut(const kf_population *p, double width, bucket *buckets)
{
    size_t count = 0;
    double last = 0;
    for (size_t i = 0; i < p->sorted_count && i < KF_POPULATION_VIEW; i++) {
        double score = log2(p->members[p->sorted[i]].speedup), which = floor(score / width);
        if (!count || which < last || which > last) buckets[count++] = (bucket){.first = i};
        bucket *b = &buckets[count - 1];
        b->mean += (score - b->mean) / (double)++b->count;
        last = which;
    }
    return count;
}

int kf_population_contrast(const kf_population *p, const kf_contrast *contrast, kf_draws *draws,
                           int64_t *candidates)
{
    if (!p->sorted_count) return 0;
    kf_autofree bucket *buckets = malloc(KF_POPULATION_VIEW * sizeof *buckets);
    if (!buckets) return 0;
    size_t count = cut(p, contrast->width, buckets);
    double mu = 0, highest = 0;
    for (size_t i = 0; i < count; i++) mu += buckets[i].mean / (double)count;
    for (size_t i = 0; i < count; i++)
        highest = fmax(highest, (buckets[i].mean - mu) / contrast->tau);
    /* Subtracting the highest exponent changes no probability and prevents overflow. */
    for (size_t i = 0; i < count; i++)
        buckets[i].weight = exp((buckets[i].mean - mu) / contrast->tau - highest);
    size_t drawn = 0;
    size_t ranks[16];
    while (drawn < count && (int)drawn < contrast->count && drawn < sizeof ranks / sizeof *ranks) {
        double sum = 0;
        for (size_t i = 0; i < count; i++) sum += buckets[i].weight;
        double left = kf_draw_fraction(draws) * sum;
        size_t chosen = count;
        for (size_t i = 0; i < count; i++) {
            if (!(buckets[i].weight > 0)) continue;
            chosen = i;
            if ((left -= buckets[i].weight) < 0) break;
        }
        /* The rest are so slow that their weights are 0. */
        if (chosen == count) break;
        ranks[drawn++] = buckets[chosen].first + draw_below(draws, buckets[chosen].count);
        buckets[chosen].weight = 0;
    }
    /* Sort the slowest, of the highest rank, first. */
    for (size_t i = 1; i < drawn; i++)
        for (size_t k = i; k > 0 && ranks[k] > ranks[k - 1]; k--) {
            size_t swap = ranks[k];
            ranks[k] = ranks[k - 1];
            ranks[k - 1] = swap;
        }
    for (size_t i = 0; i < drawn; i++) candidates[i] = p->members[p->sorted[ranks[i]]].candidate;
    return (int)drawn;
}
