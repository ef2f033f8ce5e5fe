/* Budgets of money, tokens and requests. A request is reserved before it is sent and settled after
 * it. Pure integer arithmetic, so sums are exact. At any time spent + reserved is within the
 * limits. After all requests are settled, the reservation is 0.
 *
 * A reservation is the most that a request can use: its prompt and its whole token limit, at the
 * price. The settlement is what it used. If a provider charges more than the reservation, the
 * charge is booked. */
#ifndef KFORGE_BUDGET_H
#define KFORGE_BUDGET_H

#include <stdint.h>

#include "kforge/error.h"

typedef struct kf_amount {
    int64_t nanodollars, tokens, requests;
} kf_amount;

/* llm.h names it, too. */
typedef struct kf_budget kf_budget;
struct kf_budget {
    /* 0 in a field: no limit. */
    kf_amount limit;
    kf_amount spent, reserved;
};

typedef enum kf_budget_answer {
    KF_BUDGET_GRANTED,
    /* Not now. It fits if others use less than they have reserved. */
    KF_BUDGET_WAIT,
    /* Never. What is spent leaves too little. */
    KF_BUDGET_SPENT,
} kf_budget_answer;

/* Reserves `most`. GRANTED: settle it once. SPENT fills *error (KF_ERROR_LIMIT) with the limit that
 * is exceeded. */
kf_budget_answer kf_budget_reserve(kf_budget *budget, const kf_amount *most, kf_error *error);
void kf_budget_settle(kf_budget *budget, const kf_amount *reserved, const kf_amount *used);
/* Converts USD to nanodollars, rounded up. Saturates. NaN and negative numbers give 0. */
int64_t kf_nanodollars(double usd);
double kf_dollars(int64_t nanodollars);

#endif
