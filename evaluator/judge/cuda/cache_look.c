#include "cache_look.h"

#include <math.h>

/* A word is in the cache if its first read takes less than this many times as long as later ones.
 * On an H100 these find the word in the nearer half of the cache. From the other half the first
 * read takes 1.56 times as long (1.64 in one of 100), from memory 1.9 times or more. */
#define CACHED_FACTOR 1.72
/* If more than this share is cached before, times do not show what was read since. */
#define MOST_CACHED 0.7
/* Shares differ by less than so many standard deviations by chance. */
#define DEVIATIONS 4.5
/* For the deviation, at least this share counts as cached: near 0 the normal distribution fails. */
#define LEAST_SHARE 0.05

/* The constants are those of splitmix64. */
bool kf_cache_odd_line(uint64_t secret, uint64_t pair, bool again)
{
    uint64_t mixed = secret + (pair + 1) * 0x9e3779b97f4a7c15u;
    mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9u;
    mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111ebu;
    return (mixed >> 63) != again;
}

kf_cache_share kf_cache_count(const kf_cache_sample *samples, uint32_t count)
{
    kf_cache_share share = {.words = count};
    for (uint32_t i = 0; i < count; i++)
        share.cached += samples[i].first < CACHED_FACTOR * fmin(samples[i].again, samples[i].third);
    return share;
}

static double read_since(const kf_cache_share *before, const kf_cache_share *now)
{
    if (!before->words || !now->words) return 0;
    double usual = (double)before->cached / before->words, share = (double)now->cached / now->words,
           deviation = sqrt(fmax(usual, LEAST_SHARE) * (1 - usual) *
                            (1.0 / now->words + 1.0 / before->words));
    if (usual > MOST_CACHED || share - usual <= DEVIATIONS * deviation) return 0;
    return (share - usual) / (1 - usual);
}

double kf_cache_read_since(const kf_cache_shares *before, const kf_cache_shares *now)
{
    double most = 0;
    for (uint32_t i = 0; i < now->count && i < before->count; i++)
        most = fmax(most, read_since(&before->inputs[i], &now->inputs[i]));
    return most;
}
