/* Money, tokens and requests: reserved before a request leaves, settled after it. Pure arithmetic
 * on integers, so that sums are exact: however many requests are in flight, spent + reserved never
 * passes a limit, and when all are settled nothing is left reserved.
 *
 * What is reserved is the most a request can use (prompt and all of its token limit at the price);
 * what is settled is what it used. A provider that charges more than the most it was asked for is
 * booked with what it charged: the books say what happened.
 */
#ifndef KFORGE_BUDGET_H
#define KFORGE_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#include "kforge/error.h"

typedef struct kf_amount {
    int64_t nanodollars, tokens, requests;
} kf_amount;

typedef struct kf_budget kf_budget; /* kforge/llm.h names it, too */
struct kf_budget {
    kf_amount limit; /* 0 in a field: none */
    kf_amount spent, reserved;
};

typedef enum kf_budget_answer {
    KF_BUDGET_GRANTED,
    KF_BUDGET_WAIT,  /* not now: what others have reserved and may not use would be enough */
    KF_BUDGET_SPENT, /* never: what is spent leaves no room for so much */
} kf_budget_answer;

/* GRANTED: reserved, to be settled once. SPENT fills *error (KF_ERROR_LIMIT) with the limit that
 * stands in the way. */
kf_budget_answer kf_budget_reserve(kf_budget *budget, const kf_amount *most, kf_error *error);
void kf_budget_settle(kf_budget *budget, const kf_amount *reserved, const kf_amount *used);
/* USD to the next nanodollar, up; saturates. 0 for NaN and negative numbers. */
int64_t kf_nanodollars(double usd);
double kf_dollars(int64_t nanodollars);

#endif
