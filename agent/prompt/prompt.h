/* Prompts: Markdown templates in prompts/, compiled in, filled from a plain struct. Pure but for
 * reading an overriding template.
 *
 * Template syntax: {{name}} inserts a value; {{#if name}} … {{else}} … {{/if}} keeps a part when
 * the value is not empty; {{quote name}} or
 * {{quote name cuda}} inserts a value as a fenced block whose fence is longer than any in the
 * value; {{! a remark }} inserts nothing. A line that holds nothing but #if, else, /if or a remark
 * leaves no line behind. Values are inserted as they are: what looks like a placeholder in one is
 * text. Values that candidates, models or tools wrote may only be quoted, never inserted bare, so
 * that a reader of the prompt can tell data from instructions. Errors name the template and the
 * line.
 */
#ifndef KFORGE_PROMPT_H
#define KFORGE_PROMPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kforge/error.h"
#include "kforge/stats.h"

typedef enum kf_prompt_kind {
    KF_PROMPT_SYSTEM,       /* who the model is and the rules; the request's `system` */
    KF_PROMPT_FIRST_DRAFT,  /* a first candidate from the baseline */
    KF_PROMPT_IMPROVE,      /* a faster one from a correct parent */
    KF_PROMPT_REPAIR_BUILD, /* the parent did not compile, link or load */
    /* the parent ran and failed: wrong values, crash, timeout, broken contract */
    KF_PROMPT_REPAIR_WRONG,
    /* a faster one after comparing exemplars of different speed (CUDA-L1) */
    KF_PROMPT_CONTRAST,
    KF_PROMPT_CROSSOVER,       /* one that joins two parents */
    KF_PROMPT_RETHINK,         /* another algorithm than the parent's */
    KF_PROMPT_CRITIC_OPTIMISE, /* what limits the parent: JSON, no candidate (CudaForge) */
    KF_PROMPT_CRITIC_REPAIR,   /* why the parent fails: ditto */
    /* what worked in a run, as notes for later ones: JSON, no candidate */
    KF_PROMPT_SUMMARY,
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

/* "first_draft": the template's file name without ".md". */
const char *kf_prompt_kind_name(kf_prompt_kind kind);
/* The finished text, malloc'd. Blocks have a limit each (prompt.c): texts are cut at a line,
 * sources that pass it are left out. Where the whole passes context->tokens, blocks are left out in
 * this order until it does not: notes, hardware, negatives, the best candidate, exemplars but the
 * two fastest, figures, the other exemplars, the oracle. The task, the parent, its failure and the
 * form of the answer always stay, so a prompt can be larger than its budget. `directory` holds
 * overriding templates NAME.md (a missing file falls back to the built-in); NULL: none. */
char *kf_prompt_build(kf_prompt_kind kind, const kf_prompt_context *context, const char *directory,
                      kf_error *error);
/* Is `directory` a folder of overriding templates? It has to be there and to hold at least one; a
 * NAME.md whose name no template has, but for a README.md, is an error that names the nearest: it
 * would be passed over in silence. NULL is none, and fine. */
bool kf_prompt_check(const char *directory, kf_error *error);
/* A rough token count, for budgets before a provider has counted: bytes / 3.6, rounded up. English
 * and CUDA measure 3.2 to 4.2 bytes a token with the vocabularies in use, so it errs by some 15 %;
 * never bill by it. */
int64_t kf_prompt_tokens(size_t bytes);

#endif
