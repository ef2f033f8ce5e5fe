#include "nearest.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#define LONGEST 63
/* letters that a beginning needs */
#define BEGINNING 3

/* Words of PyTorch, NumPy and C for words of kforge. */
static const struct {
    const char *word, *meant;
} synonyms[] = {
    {"half", "f16"},        {"float16", "f16"},
    {"fp16", "f16"},        {"bfloat16", "bf16"},
    {"float", "f32"},       {"float32", "f32"},
    {"fp32", "f32"},        {"double", "f64"},
    {"float64", "f64"},     {"fp64", "f64"},
    {"fp8", "f8e4m3"},      {"e4m3", "f8e4m3"},
    {"e5m2", "f8e5m2"},     {"int", "i32"},
    {"int32", "i32"},       {"int32_t", "i32"},
    {"long", "i64"},        {"int64", "i64"},
    {"int64_t", "i64"},     {"short", "i16"},
    {"int16", "i16"},       {"int8", "i8"},
    {"uint8", "u8"},        {"byte", "u8"},
    {"boolean", "bool"},    {"min", "low"},
    {"minimum", "low"},     {"max", "high"},
    {"maximum", "high"},    {"stddev", "std"},
    {"sigma", "std"},       {"randn", "normal"},
    {"gaussian", "normal"}, {"rand", "uniform"},
    {"random", "uniform"},  {"randint", "integers"},
    {"zeros", "constant"},  {"randperm", "permutation"},
    {"type", "kind"},       {"in", "input"},
    {"out", "output"},      {"tensor", "input"},
    {"gpu", "cuda"},        {"nvidia", "cuda"},
};

static char plain(char letter)
{
    return letter == '-' ? '_' : (char)tolower((unsigned char)letter);
}

static bool same(const char *a, const char *b)
{
    while (*a && plain(*a) == plain(*b)) a++, b++;
    return !*a && !*b;
}

static bool begins(const char *word, const char *start)
{
    while (*start && plain(*word) == plain(*start)) word++, start++;
    return !*start;
}

static int least(int a, int b)
{
    return a < b ? a : b;
}

/* Returns the optimal string alignment distance: Levenshtein's with swapped neighbours as one step.
 * Words over LONGEST bytes are never near. */
static int edit_distance(const char *a, const char *b)
{
    size_t n = strlen(a), m = strlen(b);
    if (n > LONGEST || m > LONGEST) return LONGEST + 1;
    int before[LONGEST + 1] = {0}, last[LONGEST + 1], row[LONGEST + 1];
    for (size_t j = 0; j <= m; j++) last[j] = (int)j;
    for (size_t i = 1; i <= n; i++) {
        row[0] = (int)i;
        for (size_t j = 1; j <= m; j++) {
            char x = plain(a[i - 1]), y = plain(b[j - 1]);
            row[j] = least(least(last[j], row[j - 1]) + 1, last[j - 1] + (x != y));
            if (i > 1 && j > 1 && x == plain(b[j - 2]) && plain(a[i - 2]) == y)
                row[j] = least(row[j], before[j - 2] + 1);
        }
        memcpy(before, last, sizeof before);
        memcpy(last, row, sizeof last);
    }
    return last[m];
}

/* Returns how many letters may be wrong: a third and one, but at most half of the shorter word. One
 * may be wrong if another one is right. */
static int allowed(const char *word, const char *known)
{
    size_t n = strlen(word), m = strlen(known), shorter = n < m ? n : m;
    int most = least((int)n / 3 + 1, (int)shorter / 2);
    return most == 0 && shorter == 1 && n + m == 3 ? 1 : most;
}

static const char *synonym(const char *word, const char *const *known, size_t count)
{
    for (size_t s = 0; s < sizeof synonyms / sizeof *synonyms; s++) {
        if (!same(synonyms[s].word, word)) continue;
        for (size_t i = 0; i < count; i++)
            if (strcmp(known[i], synonyms[s].meant) == 0) return known[i];
    }
    return NULL;
}

const char *kf_nearest(const char *word, const char *const *known, size_t count)
{
    const char *nearest = synonym(word, known, count);
    int best = LONGEST + 1;
    if (nearest) return nearest;
    for (size_t i = 0; i < count; i++) {
        int distance = edit_distance(word, known[i]);
        if (distance >= best || distance > allowed(word, known[i])) continue;
        best = distance;
        nearest = known[i];
    }
    for (size_t i = 0; i < count && !nearest && strlen(word) >= BEGINNING; i++)
        if (begins(known[i], word)) return known[i];
    return nearest;
}
