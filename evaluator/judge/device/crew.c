#include "crew.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kforge/file.h"

#define MOST_BLANKS 12
#define MOST_RETIRED 8
#define TORCH_SECONDS 60.0 /* to import PyTorch on a busy machine */
#define MOST_KNOWN 32
#define KNOWN_SECONDS 20.0 /* by then it is found out anew */
#define KNOWN_BUDGET 0.2   /* what it may differ by */
#define TRUSTED_LIVES \
    200 /* workloads that a runner of the task's serves: what is peculiar to one process must not colour every verdict */

typedef struct trusted_runner {
    kf_peer *peer;
    const kf_peer *last; /* the same, also while it is taken */
    char *binary;
    bool strict;
    int used;
} trusted_runner;

struct kf_crew {
    kf_device *device;
    kf_peer *blanks[MOST_BLANKS], *retired[MOST_RETIRED];
    size_t blank_count, retired_count;
    bool strict; /* of the blanks */
    trusted_runner trusted[2];
    kf_known known[MOST_KNOWN]; /* of the baseline's runner; the oldest first */
    size_t known_count;
    size_t started[KF_RUNNER_KINDS];
};

static trusted_runner *trusted_of(kf_crew *crew, kf_role role)
{
    return &crew->trusted[role == KF_ROLE_ORACLE];
}

kf_crew *kf_crew_new(kf_device *device)
{
    kf_crew *crew = calloc(1, sizeof *crew);
    if (crew) crew->device = device;
    return crew;
}

void kf_crew_free(kf_crew *crew)
{
    if (!crew) return;
    kf_crew_drop_trusted(crew);
    for (size_t i = 0; i < crew->blank_count; i++) kf_peer_doom(crew->blanks[i]);
    for (size_t i = 0; i < crew->blank_count; i++) kf_peer_free(crew->blanks[i]);
    for (size_t i = 0; i < crew->retired_count; i++) kf_peer_free(crew->retired[i]);
    free(crew);
}

static kf_peer *spawn(kf_crew *crew, kf_runner_kind kind, bool strict, kf_error *error)
{
    kf_runner_place place;
    if (!crew->device->operations->place(crew->device, kind, &place, error)) return NULL;
    crew->started[kind]++;
    return kf_peer_spawn(&(kf_peer_spec){.kind = kind,
                                         .program = place.program,
                                         .arguments = place.arguments,
                                         .directory = place.directory,
                                         .paths = place.paths,
                                         .path_count = place.path_count,
                                         .environment = place.environment,
                                         .limits = place.limits,
                                         .at_launcher = place.at_launcher,
                                         .wakeful = place.wakeful,
                                         .launcher = place.launcher,
                                         .same_addresses = place.same_addresses,
                                         .start_seconds = kf_runner_is_python(kind) ? TORCH_SECONDS : 0,
                                         .strict = strict},
                         error);
}

static void drop_blanks(kf_crew *crew)
{
    while (crew->blank_count) kf_crew_retire(crew, crew->blanks[--crew->blank_count], false);
}

static bool is_slow(const kf_crew *crew, kf_runner_kind kind)
{
    return kf_runner_is_python(kind) || (crew->device->slow_start && (kind == KF_RUNNER_PLAIN || kind == KF_RUNNER_COUNT));
}

/* The place of the blank of that kind that was started first; blank_count: there is none. */
static size_t find_blank(const kf_crew *crew, kf_runner_kind kind)
{
    size_t i = 0;
    while (i < crew->blank_count && kf_peer_kind(crew->blanks[i]) != kind) i++;
    return i;
}

size_t kf_crew_started(const kf_crew *crew, kf_runner_kind kind)
{
    return crew->started[kind];
}

void kf_crew_expect(kf_crew *crew, kf_runner_kind kind, bool strict, size_t count)
{
    if (!is_slow(crew, kind)) return;
    if (strict != crew->strict) drop_blanks(crew);
    crew->strict = strict;
    size_t there = 0;
    for (size_t i = 0; i < crew->blank_count; i++) there += kf_peer_kind(crew->blanks[i]) == kind;
    for (; there < count && crew->blank_count < MOST_BLANKS; there++) {
        kf_error ignored;
        kf_peer *peer = spawn(crew, kind, strict, &ignored);
        if (!peer) return;
        crew->blanks[crew->blank_count++] = peer;
    }
}

void kf_crew_forget(kf_crew *crew, kf_runner_kind kind)
{
    for (size_t at; (at = find_blank(crew, kind)) < crew->blank_count;) {
        kf_peer *peer = crew->blanks[at];
        memmove(crew->blanks + at, crew->blanks + at + 1, (--crew->blank_count - at) * sizeof *crew->blanks);
        kf_crew_retire(crew, peer, false);
    }
}

kf_peer *kf_crew_take(kf_crew *crew, kf_runner_kind kind, bool strict, const volatile int *stop, kf_error *error)
{
    if (strict != crew->strict) drop_blanks(crew);
    crew->strict = strict;
    for (size_t at; (at = find_blank(crew, kind)) < crew->blank_count;) {
        kf_peer *peer = crew->blanks[at];
        memmove(crew->blanks + at, crew->blanks + at + 1, (--crew->blank_count - at) * sizeof *crew->blanks);
        kf_peer_obey(peer, stop);
        kf_error why = {0};
        if (kf_peer_greet(peer, &why)) return peer;
        kf_peer_free(peer);
        if (why.code != KF_ERROR_BUSY)
            continue; /* it may have died while it waited; the next one says what is wrong with the machine */
        kf_fail_copy(error, &why);
        return NULL;
    }
    kf_auto(kf_peer) peer = spawn(crew, kind, strict, error);
    if (!peer) return NULL;
    kf_peer_obey(peer, stop);
    return kf_peer_greet(peer, error) ? kf_steal(&peer) : NULL;
}

void kf_crew_retire(kf_crew *crew, kf_peer *peer, bool unclean)
{
    if (!peer) return;
    if (unclean || !crew->device->slow_start) {
        kf_peer_free(peer);
        return;
    }
    if (crew->retired_count == MOST_RETIRED) kf_peer_free(crew->retired[--crew->retired_count]);
    kf_peer_doom(peer);
    crew->retired[crew->retired_count++] = peer;
}

void kf_crew_pause(kf_crew *crew)
{
    for (size_t i = 0; i < crew->blank_count; i++) kf_peer_pause(crew->blanks[i]);
}

void kf_crew_resume(kf_crew *crew)
{
    for (size_t i = 0; i < crew->blank_count; i++) kf_peer_resume(crew->blanks[i]);
}

bool kf_crew_settle(kf_crew *crew, bool all, kf_error *error)
{
    for (size_t i = 0; i < crew->blank_count && all; i++) {
        kf_error why = {0};
        if (kf_peer_greet(crew->blanks[i], &why)) continue;
        if (why.code == KF_ERROR_BUSY) return kf_fail_copy(error, &why);
        kf_peer_free(crew->blanks[i]);
        crew->blanks[i--] = crew->blanks[--crew->blank_count];
    }
    while (crew->retired_count) kf_peer_free(crew->retired[--crew->retired_count]);
    return true;
}

/* ---- the task's own ---------------------------------------------------------------------------------------------------------------------- */

static bool lives_on(const trusted_runner *t, bool strict)
{
    return t->peer && t->used < TRUSTED_LIVES && t->strict == strict;
}

bool kf_crew_has_trusted(const kf_crew *crew, kf_role role, const char *binary, bool strict)
{
    const trusted_runner *t = &crew->trusted[role == KF_ROLE_ORACLE];
    return lives_on(t, strict) && strcmp(t->binary, binary) == 0;
}

bool kf_crew_can_serve(const kf_crew *crew, kf_role role, const char *binary, bool strict, const kf_problem *problem)
{
    const trusted_runner *t = &crew->trusted[role == KF_ROLE_ORACLE];
    const kf_device *device = crew->device;
    if (kf_crew_has_trusted(crew, role, binary, strict)) return true;
    return lives_on(t, strict) && kf_peer_kind(t->peer) == KF_RUNNER_TORCH && strncmp(binary, KF_TORCH_KEY, sizeof KF_TORCH_KEY - 1) == 0 &&
           (!problem || !device->operations->suits || device->operations->suits(device, t->peer, role, problem));
}

static void drop(kf_crew *crew, trusted_runner *t)
{
    kf_crew_retire(crew, t->peer, false);
    free(t->binary);
    *t = (trusted_runner){0};
    if (t == &crew->trusted[0]) crew->known_count = 0;
}

void kf_crew_make_room(kf_crew *crew, const char *baseline, bool strict, const kf_problem *problem)
{
    trusted_runner *t = trusted_of(crew, KF_ROLE_BASELINE);
    if (t->peer && kf_peer_attachment(t->peer) && !kf_crew_can_serve(crew, KF_ROLE_BASELINE, baseline, strict, problem))
        drop(crew, t);
    for (size_t i = 0; i < crew->retired_count;) {
        if (!kf_peer_attachment(crew->retired[i])) {
            i++;
            continue;
        }
        kf_peer_free(crew->retired[i]);
        crew->retired[i] = crew->retired[--crew->retired_count];
    }
}

static bool is_of(const kf_known *known, const char *task, int workload)
{
    return known->workload == workload && strcmp(known->task, task) == 0;
}

void kf_crew_unlearn(kf_crew *crew, const char *task, int workload)
{
    for (size_t i = 0; i < crew->known_count; i++)
        if (is_of(&crew->known[i], task, workload)) {
            crew->known_count--;
            memmove(crew->known + i, crew->known + i + 1, (crew->known_count - i) * sizeof *crew->known);
            return;
        }
}

void kf_crew_learn(kf_crew *crew, const kf_known *known)
{
    kf_crew_unlearn(crew, known->task, known->workload);
    if (crew->known_count == MOST_KNOWN) memmove(crew->known, crew->known + 1, --crew->known_count * sizeof *crew->known);
    crew->known[crew->known_count++] = *known;
}

const kf_known *kf_crew_recall(const kf_crew *crew, const char *task, int workload, double seconds)
{
    for (size_t i = 0; i < crew->known_count; i++) {
        const kf_known *known = &crew->known[i];
        if (!is_of(known, task, workload)) continue;
        return kf_now() - known->at < KNOWN_SECONDS && fabs(seconds - known->seconds) <= KNOWN_BUDGET * known->seconds ? known
                                                                                                                       : NULL;
    }
    return NULL;
}

kf_peer *kf_crew_take_trusted(kf_crew *crew, kf_role role, const char *binary, bool strict, const kf_problem *problem,
                              const volatile int *stop, bool *from_another)
{
    trusted_runner *t = trusted_of(crew, role);
    *from_another = false;
    if (!kf_crew_can_serve(crew, role, binary, strict, problem)) {
        drop(crew, t);
        return NULL;
    }
    *from_another = strcmp(t->binary, binary) != 0;
    kf_peer *peer = t->peer;
    t->peer = NULL; /* its name and its age stay until it comes back */
    kf_peer_obey(peer, stop);
    return peer;
}

void kf_crew_keep_trusted(kf_crew *crew, kf_role role, const char *binary, bool strict, kf_peer *peer)
{
    trusted_runner *t = trusted_of(crew, role);
    if (!peer) return;
    kf_peer_obey(peer, NULL);
    bool same = t->binary && strcmp(t->binary, binary) == 0;
    int used = t->last == peer ? t->used + 1 : 1;
    if (!same && role == KF_ROLE_BASELINE) crew->known_count = 0;
    kf_crew_retire(crew, t->peer, false);
    free(t->binary);
    *t = (trusted_runner){.peer = peer, .last = peer, .binary = strdup(binary), .strict = strict, .used = used};
    if (!t->binary) drop(crew, t);
}

void kf_crew_drop_trusted(kf_crew *crew)
{
    for (int i = 0; i < 2; i++) drop(crew, &crew->trusted[i]);
}
