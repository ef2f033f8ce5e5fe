#include "budget.h"

#include <math.h>

/* Adds and saturates: an absurd count of a provider must not wrap around and open the budget. */
static int64_t add(int64_t a, int64_t b)
{
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

static kf_budget_answer check_limit(int64_t limit, int64_t spent, int64_t reserved, int64_t most)
{
    if (limit <= 0) return KF_BUDGET_GRANTED;
    if (add(spent, most) > limit) return KF_BUDGET_SPENT;
    return add(add(spent, reserved), most) > limit ? KF_BUDGET_WAIT : KF_BUDGET_GRANTED;
}

kf_budget_answer kf_budget_reserve(kf_budget *b, const kf_amount *most, kf_error *error)
{
    kf_budget_answer money = check_limit(b->limit.nanodollars, b->spent.nanodollars,
                                         b->reserved.nanodollars, most->nanodollars);
    kf_budget_answer tokens =
        check_limit(b->limit.tokens, b->spent.tokens, b->reserved.tokens, most->tokens);
    kf_budget_answer requests =
        check_limit(b->limit.requests, b->spent.requests, b->reserved.requests, most->requests);
    if (requests == KF_BUDGET_SPENT)
        kf_fail(error, KF_ERROR_LIMIT, "the budget of %lld requests is spent",
                (long long)b->limit.requests);
    else if (money == KF_BUDGET_SPENT)
        kf_fail(error, KF_ERROR_LIMIT,
                "the money is spent: the next request may cost $%.4f, and $%.4f of $%.4f are left",
                kf_dollars(most->nanodollars),
                kf_dollars(b->limit.nanodollars - b->spent.nanodollars),
                kf_dollars(b->limit.nanodollars));
    else if (tokens == KF_BUDGET_SPENT)
        kf_fail(error, KF_ERROR_LIMIT,
                "the tokens are spent: the next request may take %lld, and %lld of %lld are left",
                (long long)most->tokens, (long long)(b->limit.tokens - b->spent.tokens),
                (long long)b->limit.tokens);
    if (money == KF_BUDGET_SPENT || tokens == KF_BUDGET_SPENT || requests == KF_BUDGET_SPENT)
        return KF_BUDGET_SPENT;
    if (money == KF_BUDGET_WAIT || tokens == KF_BUDGET_WAIT || requests == KF_BUDGET_WAIT)
        return KF_BUDGET_WAIT;
    b->reserved.nanodollars = add(b->reserved.nanodollars, most->nanodollars);
    b->reserved.tokens = add(b->reserved.tokens, most->tokens);
    b->reserved.requests = add(b->reserved.requests, most->requests);
    return KF_BUDGET_GRANTED;
}

void kf_budget_settle(kf_budget *b, const kf_amount *reserved, const kf_amount *used)
{
    b->reserved.nanodollars -= reserved->nanodollars;
    b->reserved.tokens -= reserved->tokens;
    b->reserved.requests -= reserved->requests;
    b->spent.nanodollars = add(b->spent.nanodollars, used->nanodollars);
    b->spent.tokens = add(b->spent.tokens, used->tokens);
    b->spent.requests = add(b->spent.requests, used->requests);
}

int64_t kf_nanodollars(double usd)
{
    if (!(usd > 0)) return 0;
    /* 0.1 USD is 1e8 nanodollars. Without the offset the last bit of the product gives 1e8 + 1. */
    double nano = ceil(usd * 1e9 - 1e-3);
    return nano < 9e18 ? (int64_t)nano : INT64_MAX;
}

double kf_dollars(int64_t nanodollars)
{
    return (double)nanodollars * 1e-9;
}
