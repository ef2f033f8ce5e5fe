/* Episodes: kforge's own line at the end of an agent's stream (agent/episode/episode_stream.c) has
 * the sources that the agent had judged, and the answers that it saw. */
#include <math.h>
#include <string.h>

#include "export_internal.h"
#include "kforge/json.h"
#include "kforge/list.h"

/* Longest own line that is read. Longer ones are no episodes with turns. */
#define LINE_BYTES (64u << 20)
/* Digits of a candidate's hash in an answer. */
#define HASH_DIGITS 12

void kf_episode_turns_free(kf_episode_turns *turns)
{
    for (size_t i = 0; i < turns->count; i++) {
        free(turns->list[i].reply);
        free(turns->list[i].feedback);
    }
    free(turns->list);
    free(turns->last);
    *turns = (kf_episode_turns){0};
}

/* Parses the last line of a reply. NULL: it is no line of kforge's with turns. */
static cJSON *own_line(const char *reply, size_t size)
{
    static const char mark[] = "{\"type\":\"kforge.episode\"";
    const char *feed = size ? memrchr(reply, '\n', size) : NULL, *line = feed ? feed + 1 : reply;
    size_t length = size - (size_t)(line - reply);
    if (length < sizeof mark || memcmp(line, mark, sizeof mark - 1) != 0) return NULL;
    kf_auto(cJSON) own = kf_json_parse(line, length, LINE_BYTES, "episode", NULL);
    bool has_turns = cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(own, "turns")) > 0;
    return has_turns ? kf_steal(&own) : NULL;
}

/* Returns a reply as a model without tools writes it. NULL without memory. */
static char *fenced(const char *source)
{
    kf_autobuffer text = {0};
    size_t size = strlen(source);
    kf_buffer_format(&text, "```cuda\n%s%s```\n", source,
                     size && source[size - 1] == '\n' ? "" : "\n");
    return text.failed ? NULL : kf_buffer_take(&text);
}

/* Adds the turn, unless it has no attempt with a label. */
static bool add(kf_exporter *e, const kf_item *item, const cJSON *turn, kf_episode_turns *turns,
                kf_error *error)
{
    kf_item found;
    kf_error why = {0};
    const char *hash = kf_json_get_text(turn, "candidate", "");
    if (strlen(hash) != HASH_DIGITS) return true;
    if (!kf_item_tried(e, item, hash, &found, &why))
        return why.code == KF_ERROR_NONE || kf_fail_copy(error, &why);
    if (isnan(found.reward)) return true;
    if (!kf_list_grow(&turns->list, turns->count)) return kf_fail_memory(error, "an export");
    kf_episode_turn *added = &turns->list[turns->count++];
    *added = (kf_episode_turn){.item = found,
                               .reply = fenced(kf_json_get_text(turn, "source", "")),
                               .feedback = strdup(kf_json_get_text(turn, "feedback", ""))};
    return (added->reply && added->feedback) || kf_fail_memory(error, "an export");
}

bool kf_episode_turns_read(kf_exporter *e, const kf_item *item, const char *reply, size_t size,
                           kf_episode_turns *turns, kf_error *error)
{
    kf_auto(cJSON) own = own_line(reply, size);
    const char *candidate = kf_json_get_text(own, "candidate", "");
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(own, "turns"), *turn, *last = NULL;
    *turns = (kf_episode_turns){0};
    if (!own || !*candidate || !item->candidate) return true;
    cJSON_ArrayForEach(turn, list) if (strcmp(kf_json_get_text(turn, "do", ""), "check") != 0)
        last = turn;
    bool added = true;
    cJSON_ArrayForEach(turn, list)
    {
        bool is_result =
            turn == last && strcmp(kf_json_get_text(turn, "source", ""), candidate) == 0;
        if (added && strcmp(kf_json_get_text(turn, "do", ""), "check") != 0 && !is_result)
            added = add(e, item, turn, turns, error);
    }
    if (added && !(turns->last = fenced(candidate))) added = kf_fail_memory(error, "an export");
    return added;
}
