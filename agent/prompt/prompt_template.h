/* The template engine: text and values in, text out. prompt.h describes the syntax. */
#ifndef KFORGE_AGENT_PROMPT_TEMPLATE_H
#define KFORGE_AGENT_PROMPT_TEMPLATE_H

#include <stdbool.h>
#include <stddef.h>

#include "kforge/buffer.h"
#include "kforge/error.h"

#define KF_TEMPLATE_DEPTH 16
#define KF_PROMPT_BYTES (16u << 20)

typedef struct kf_template_value {
    const char *name;
    /* NULL counts as "". */
    const char *text;
    /* It comes from a candidate, a model or a tool, and must be quoted. */
    bool data;
} kf_template_value;

/* Returns the text, malloc'd. Errors call the template `name`. */
char *kf_template_render(const char *name, const char *text, size_t size,
                         const kf_template_value *values, size_t count, kf_error *error);

/* Appends `text` in a fence that it cannot close, as {{quote}} does. */
void kf_template_quote(kf_buffer *out, const char *text, const char *info);

/* A template compiled into the program (agent/embed.cmake). */
typedef struct kf_template_builtin {
    const char *name;
    const char *text;
    size_t size;
} kf_template_builtin;

extern const kf_template_builtin kf_template_builtins[]; /* ends at a NULL name */
/* agent/bench/report/: the page of a bench */
extern const kf_template_builtin kf_report_files[];
/* agent/pages/view/: the page of a run, and the style that both pages share */
extern const kf_template_builtin kf_page_files[];
extern const kf_template_builtin kf_price_files[]; /* agent/llm/prices.json */
extern const kf_template_builtin kf_mcp_files[];   /* agent/mcp/tools.json */
/* agent/commands/starter/, for `kforge task new` */
extern const kf_template_builtin kf_starter_files[];

#endif
