#include "export_names.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

#include "kforge/cleanup.h"
#include "kforge/export.h"
#include "kforge/json.h"
#include "nearest.h"
#include "kforge/list.h"
#include "output.h"

const char *kf_export_family(const kf_task *task)
{
    const char *family = kf_json_get_text(kf_task_json(task), "family", NULL);
    return family && *family ? family : kf_task_name(task);
}

typedef struct kf_names {
    char **items;
    size_t count;
} kf_names;

static void names_free(kf_names *names)
{
    for (size_t i = 0; i < names->count; i++) free(names->items[i]);
    free(names->items);
}

static bool add(kf_names *names, const char *name, kf_error *error)
{
    kf_autofree char *copy = strdup(name);
    if (!copy || !kf_list_grow(&names->items, names->count))
        return kf_fail_memory(error, "the names in the data set");
    names->items[names->count++] = kf_steal(&copy);
    return true;
}

typedef struct kf_question {
    const kf_option_list *list;
    const char *option, *what;
    /* True: names and hashes of tasks count, too */
    bool tasks;
    bool *known;  /* by index in the list */
    kf_names all; /* a similar name */
} kf_question;

static bool ask(kf_question *q, const kf_task *task, kf_error *error)
{
    const char *name = kf_task_name(task), *family = kf_export_family(task);
    for (size_t i = 0; i < q->list->count; i++)
        q->known[i] |= kf_export_listed(&q->list->items[i], 1, q->tasks ? name : family,
                                        q->tasks ? kf_task_hash(task) : "", family);
    return add(&q->all, family, error) && (!q->tasks || add(&q->all, name, error));
}

static void tell(const kf_question *q, FILE *log)
{
    for (size_t i = 0; i < q->list->count; i++) {
        if (q->known[i]) continue;
        const char *near =
            kf_nearest(q->list->items[i], (const char *const *)q->all.items, q->all.count);
        fprintf(log, "--%s \"%s\" has no effect: no %s of the store has this name%s%s%s\n",
                q->option, q->list->items[i], q->what, near ? "; did you mean " : "",
                near ? near : "", near ? "?" : "");
    }
}

static bool ask_all(kf_store *store, kf_question *questions, size_t count, kf_error *error)
{
    kf_auto(kf_store_cursor) cursor = kf_store_tasks(store, error);
    kf_autoresult kf_store_task row = {0};
    int more = cursor ? 1 : -1;
    while (more == 1 && (more = kf_store_next_task(cursor, &row, error)) == 1) {
        kf_auto(kf_task) task = kf_stored_task(store, row.hash, error);
        if (!task) return false;
        for (size_t i = 0; i < count; i++)
            if (!ask(&questions[i], task, error)) return false;
    }
    return more == 0;
}

bool kf_export_tell_unknown(kf_store *store, const kf_option_list *held_out,
                            const kf_option_list *families, FILE *log, kf_error *error)
{
    if (!held_out->count && !families->count) return true;
    kf_question questions[] = {{held_out, "held-out", "task or family", true, NULL, {0}},
                               {families, "test-family", "family", false, NULL, {0}}};
    bool ok = true;
    for (size_t i = 0; i < 2; i++)
        ok = ok && ((questions[i].known = calloc(questions[i].list->count + 1, sizeof(bool))) ||
                    kf_fail_memory(error, "the names in the data set"));
    ok = ok && ask_all(store, questions, 2, error);
    for (size_t i = 0; i < 2; i++) {
        if (ok) tell(&questions[i], log);
        free(questions[i].known);
        names_free(&questions[i].all);
    }
    return ok;
}
