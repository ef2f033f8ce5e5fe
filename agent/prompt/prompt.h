/* Prompts: Markdown templates in prompts/, compiled in, filled from a struct. Pure except for
 * reading templates of the user.
 *
 * Syntax: {{name}} inserts a value. {{#if name}} … {{else}} … {{/if}} keeps a part if the value
 * is not empty. {{quote name}} or {{quote name cuda}} inserts a value as a fenced block with a
 * fence longer than any in the value. {{! text }} is a remark. A line with only #if, else, /if
 * or a remark leaves no line. A placeholder inside a value is plain text. Values from
 * candidates, models or tools must be quoted, so that a reader of the prompt can tell data from
 * instructions. Errors name the template and the line. */
#ifndef KFORGE_PROMPT_H
#define KFORGE_PROMPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kforge/error.h"
#include "kforge/stats.h"

typedef enum kf_prompt_kind {
    /* the model's role and the rules; the request's `system` */
    KF_PROMPT_SYSTEM,
    /* a first candidate from the baseline */
    KF_PROMPT_FIRST_DRAFT,
    /* a faster one from a correct parent */
    KF_PROMPT_IMPROVE,
    /* The parent did not compile, link or load. */
    KF_PROMPT_REPAIR_BUILD,
    /* The parent ran and failed: wrong values, crash, timeout, broken contract. */
    KF_PROMPT_REPAIR_WRONG,
    /* a faster one after comparing exemplars of different speed (CUDA-L1) */
    KF_PROMPT_CONTRAST,
    KF_PROMPT_CROSSOVER,       /* one that joins two parents */
    KF_PROMPT_RETHINK,         /* another algorithm than the parent's */
    KF_PROMPT_CRITIC_OPTIMISE, /* what limits the parent: JSON, no candidate (CudaForge) */
    /* why the parent fails: JSON, no candidate */
    KF_PROMPT_CRITIC_REPAIR,
    /* what worked in a run, as notes for later ones: JSON, no candidate */
    KF_PROMPT_SUMMARY,
    /* TASK.md of an agent's folder */
    KF_PROMPT_EPISODE,
    KF_PROMPT_KIND_COUNT
} kf_prompt_kind;

#define KF_PROMPT_EXEMPLARS 8
typedef struct kf_prompt_exemplar {
    const char *source;
    double speedup;
} kf_prompt_exemplar;

/* Facts of the task. */
typedef struct kf_prompt_task {
    const char *name;
    /* one or more sentences */
    const char *description;
    /* name of the entry point */
    const char *entry;
    /* kf_task_prototype */
    const char *prototype;
    /* "f32" */
    const char *precision;
    /* in words: "error at most 8 times the baseline's" */
    const char *tolerance;
    /* allowed besides the CUDA runtime: "cublas, cutlass" */
    const char *libraries;
    /* what a source must not contain: "`torch.topk`, `.sort(`" */
    const char *forbidden;
    /* Markdown table of those that are not hidden */
    const char *workloads;
    const char *baseline_source;
    /* The baseline is Python: a problem file for PyTorch. */
    bool baseline_module;
    const char *oracle_source;
} kf_prompt_task;

/* The candidate that the request is about. */
typedef struct kf_prompt_parent {
    const char *source;
    /* so that figures can be traced to a candidate */
    const char *hash;
    /* NaN: not correct, or not timed */
    kf_interval speedup;
    /* times, counters and roofline in words */
    const char *figures;
    /* for repair_build; a long log is cut in the middle */
    const char *build_log;
    /* for repair_wrong: status and findings in words */
    const char *failure;
    /* of a critic, to be followed */
    const char *diagnosis;
    /* findings of a static scan, for critics */
    const char *flags;
} kf_prompt_parent;

/* What a prompt may say. Strings are borrowed for the call. NULL, "", NaN and speedups of 0 mean
 * "not known" and leave their part out. */
typedef struct kf_prompt_context {
    kf_prompt_task task;
    /* facts of the device, a few lines */
    const char *device;
    /* limits and instructions of the device's generation */
    const char *hardware;
    kf_prompt_parent parent;
    /* Its source only if it is not the parent. */
    kf_prompt_exemplar best;
    /* the other parent of a crossover */
    kf_prompt_exemplar other;
    /* of the same task, the slowest first */
    kf_prompt_exemplar exemplars[KF_PROMPT_EXEMPLARS];
    int exemplar_count;
    /* correct candidates that were slower than their parent */
    kf_prompt_exemplar negatives[KF_PROMPT_EXEMPLARS];
    int negative_count;
    /* what worked and what did not */
    const char *notes;
    /* what was wrong with the last reply */
    const char *last;
    /* most tokens of the text by kf_prompt_tokens; 0: no limit. kf_prompt_build says what it leaves
     * out. */
    int64_t tokens;
    /* Ask for search/replace edits instead of the whole source. */
    bool edits;
} kf_prompt_context;

/* Returns the finished text, malloc'd. Each block has a limit (prompt.c): texts are cut at a
 * line, and sources over the limit are left out. If the text exceeds context->tokens, blocks
 * are left out in this order: notes, hardware, negatives, the best candidate, exemplars except
 * for the two fastest, figures, the other exemplars, the oracle. The task, the parent, its
 * failure and the answer format always stay, so a prompt may exceed its limit. `directory`
 * holds the user's templates NAME.md, or is NULL. Without a file the built-in template is used. */
char *kf_prompt_build(kf_prompt_kind kind, const kf_prompt_context *context, const char *directory,
                      kf_error *error);
/* True if `directory` is NULL or a folder with at least one template NAME.md. A NAME.md without
 * a template of that name is an error that suggests the nearest name, since it would have no
 * effect. A README.md is allowed. */
bool kf_prompt_check(const char *directory, kf_error *error);
/* Returns a rough token count: bytes / 3.6, rounded up. English and CUDA have 3.2 to 4.2 bytes
 * a token in current vocabularies, so it errs by about 15 %. Use it for budgets only, never for
 * billing. */
int64_t kf_prompt_tokens(size_t bytes);

#endif
