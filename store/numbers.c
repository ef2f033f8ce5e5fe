/* Texts that are mostly numbers and well-known words: verdicts and counters as JSON. (Codec NUMBERS
 * of blob.c.)
 *
 * zstd takes digits for letters: they hardly ever repeat, so all it can do is to give them shorter
 * codes, which is two thirds of the time that compressing a verdict takes. Here runs of digits
 * leave the text first, two characters to a byte, which is as small as codes make them. What is
 * left, keys and words, is nearly the same in each verdict; zstd finds it in a dictionary. Together
 * a third of the time, and no larger.
 *
 *     u32 check, u32 bytes of the frame, the frame, digits
 *
 * The frame unpacks to the text with MARK for every run that was taken out; digits hold these runs
 * one behind another, high half of a byte first, each ended by a low half that is END: the high one
 * is the last character of a run of odd length, else END, too. A text with a MARK of its own (no
 * JSON has one) can't be packed so. `check` is a sum over everything behind it: digits have no
 * redundancy by which damage would show. Little-endian, as samples are.
 *
 * The dictionary is part of the format: it never changes. A better one is another codec. */
#include "internal.h"

#include <string.h>

#define MARK '\1'
/* a run costs one byte of text and up to one and a half of digits beside its own */
#define SHORTEST 4
#define HEADER 8
#define FAST (-1)

/* Half bytes of a run: END, or one more than the place of a character in "0123456789.-e,+". */
enum { END = 0 };
static const unsigned char half_of[256] = {
    ['0'] = 1, ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,  ['6'] = 7, ['7'] = 8,
    ['8'] = 9, ['9'] = 10, ['.'] = 11, ['-'] = 12, ['e'] = 13, [','] = 14, ['+'] = 15};
#define PAIRS(c)                                                                            \
    {c, 0}, {c, '0'}, {c, '1'}, {c, '2'}, {c, '3'}, {c, '4'}, {c, '5'}, {c, '6'}, {c, '7'}, \
        {c, '8'}, {c, '9'}, {c, '.'}, {c, '-'}, {c, 'e'}, {c, ','},                         \
    {                                                                                       \
        c, '+'                                                                              \
    }
static const char characters_of[256][2] = {
    PAIRS(0),   PAIRS('0'), PAIRS('1'), PAIRS('2'), PAIRS('3'), PAIRS('4'), PAIRS('5'), PAIRS('6'),
    PAIRS('7'), PAIRS('8'), PAIRS('9'), PAIRS('.'), PAIRS('-'), PAIRS('e'), PAIRS(','), PAIRS('+')};

/* What ends a stretch of text that stays as it is: what a run may begin with, and MARK. */
static const bool is_special[256] = {
    ['0'] = true, ['1'] = true, ['2'] = true, ['3'] = true, ['4'] = true, ['5'] = true,
    ['6'] = true, ['7'] = true, ['8'] = true, ['9'] = true, ['-'] = true, [MARK] = true};

#define N "\1"
#define SPEEDUP "{\"value\":" N "\"low\":" N "\"high\":" N "}"
#define NO_SPEEDUP "{\"value\":\"nan\",\"low\":\"nan\",\"high\":\"nan\"}"
#define OUTPUT                                                                                \
    "{\"argument\":\"y\",\"rms\":" N "\"max\":" N "\"baseline_rms\":" N "\"baseline_max\":" N \
    "\"allowed_rms\":" N "\"allowed_max\":" N "\"compared\":" N                               \
    "\"mismatched\":0,\"first_index\":-1,\"first_expected\":0,\"first_got\":0,\"pat"          \
    "tern\":\"\"}"
#define SAMPLES                                                                      \
    "\"samples\":{\"side\":\"aaaabcnbcncbnbcncbnbc\",\"pair\":[" N "],\"calls\":[" N \
    "],\"seconds\":[" N "],\"claimed\":[" N "]"

/* The more often something is found, the nearer to the end. */
static const char dictionary[] =
    "\"counters\":{\"candidate\":\"code\":\"workload\":\"chip\":\"passes\":\"setup_seconds\":"
    "\"count_seconds\":\"kernels\":[{"
    "\"name\":"
    "\"symbol\":\"launches\":\"part\":\"grid\":[\"block\":[\"registers\":\"shared_bytes\":\"local_"
    "bytes\":\"occupancy\":"
    "\"occupancy_limit\":\"metrics\":{\"roofline\":{\"missing\":[],\"dropped\":0,\"note\":\"\","
    "\"remedy\":\"\""
    "\"gpu__time_duration.sum\":" N "\"sm__cycles_active.avg\":" N
    "\"sm__warps_active.avg.pct_of_peak_sustained_active\":" N
    "\"sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_active\":" N
    "\"dram__bytes_read.sum\":" N "\"dram__bytes_write.sum\":" N
    "\"dram__throughput.avg.pct_of_peak_sustained_elapsed\":" N
    "\"l1tex__t_sector_hit_rate.pct\":" N "\"lts__t_sector_hit_rate.pct\":" N
    "\"smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio\":" N
    "\"status\":\"wrong_result\",\"blame\":\"candidate\",\"message\":\"\"findings\":[{\"status\":"
    "\"wrong_result\",\"rule\":\"\","
    "\"text\":\""
    "\"measured\":" N "\"limit\":" N "\"pattern\":\"everywhere\""
    "\"status\":\"compile_error\",\"crash\",\"timeout\",\"launch_failure\",\"contract_violation\","
    "\"cheating\",\"interference\","
    "\"impossible\""
    "\"kernelbench\":{\"verdict\":\"registers\":" N "\"spill_bytes\":0,\"shared_bytes\":" N
    "\"spill_stores\":0,\"spill_loads\":0"
    "{\"schema\":\"kforge-verdict/"
    "1\",\"id\":\"eval-\",\"task\":\"\",\"task_hash\":\"\",\"source_hash\":\"\",\"binary_hash\":\""
    "\",\"code_hash\":\"\",\"device\":\"cuda:0\",\"device\":\"cpu\",\"status\":\"correct\","
    "\"blame\":\"nobody\",\"message\":"
    "\"correct; " N " times the baseline's speed (95 % interval " N " to " N
    ": no difference shown)\",\"speedup\":" SPEEDUP
    ",\"reverified\":false,\"findings\":[],\"workloads\":["
    "],\"flags\":[],\"build\":{\"flags\":[],\"seconds\":" N
    "\"log\":\"\"},\"provenance\":{\"kforge\":\"" N "\",\"toolchain\":\"nvcc " N
    "\",\"driver\":\"" N "\",\"toolchain\":\"cpu bin/kforge-cpucc " N " " N
    " lib/kforge/libkfcpu.so " N " lib/kforge/cpu/pch/plain/kforge_cpu.h.gch " N
    "\",\"host\":\"\",\"kernel\":\"" N "\",\"device\":{\"name\":\"cuda:0\",\"hardware\":\"NVIDIA "
                                       "H200\",\"device\":{\"name\":\"cpu\",\"hardware\":\"cpu "
    "\",\"threads\":2,"
    "\"read_bytes_per_second\":" N "\"memory_bytes\":" N
    "},\"options\":{\"seconds\":0,\"half_width\":" N
    "\"check_only\":false,\"asan\":false,\"verify\":false},\"sandbox\":[\"user_ns\",\"pid_ns\","
    "\"net_ns\",\"ipc_ns\",\"mount_ns\","
    "\"uts_ns\",\"cgroup\",\"rlimits\",\"no_new_privs\",\"landlock\",\"seccomp\"],\"keys\":[\"\"]},"
    "\"build_seconds\":" N "\"judge_seconds\":" N "}\"clock_mhz\":[" N "],\"throttle\":[" N "]}}"
    "{\"workload\":\"ragged\",\"timed\":false,\"status\":\"correct\",\"findings\":[],\"outputs\":"
    "[" OUTPUT "],\"speedup\":" NO_SPEEDUP
    ",\"baseline_seconds\":\"nan\",\"candidate_seconds\":\"nan\",\"latency_speedup\":" NO_SPEEDUP
    ",\"latency_baseline_seconds\":\"nan\",\"latency_candidate_seconds\":\"nan\",\"batch_cost_"
    "seconds\":\"nan\",\"floor_seconds\":"
    "0,"
    "\"sets\":3,\"pairs\":0," SAMPLES "}},"
    "{\"workload\":\"main\",\"timed\":true,\"status\":\"correct\",\"findings\":[],\"outputs\":"
    "[" OUTPUT "],\"speedup\":" SPEEDUP ",\"baseline_seconds\":" N "\"candidate_seconds\":" N
    "\"latency_speedup\":" SPEEDUP ",\"latency_baseline_seconds\":" N
    "\"latency_candidate_seconds\":" N "\"batch_cost_seconds\":" N "\"floor_seconds\":" N
    "\"sets\":3,\"pairs\":8," SAMPLES "}},";
#define DICTIONARY (sizeof dictionary - 1)

/* ---- packing --------------------------------------------------------------------------------- */

static uint32_t check_sum(const unsigned char *data, size_t size)
{
    uint64_t sum = size, word = 0;
    for (; size >= sizeof word; data += sizeof word, size -= sizeof word) {
        memcpy(&word, data, sizeof word);
        sum = (sum ^ word) * 0x9e3779b97f4a7c15;
        sum ^= sum >> 32;
    }
    word = 0;
    memcpy(&word, data, size);
    sum = (sum ^ word) * 0x9e3779b97f4a7c15;
    return (uint32_t)(sum ^ sum >> 32);
}

/* Divides `text` into what stays (at most `size` bytes) and the halves of its runs (ditto). False:
 * it has a MARK. */
static bool divide(const unsigned char *text, size_t size, unsigned char *rest, size_t *rest_size,
                   unsigned char *digits, size_t *digits_size)
{
    const unsigned char *end = text + size;
    unsigned char *r = rest, *d = digits;
    for (;;) {
        while (text < end && !is_special[*text]) *r++ = *text++;
        if (text == end) break;
        if (*text == MARK) return false;
        const unsigned char *start = text;
        unsigned char *run = d;
        while (end - text > 1 && half_of[text[0]] != END && half_of[text[1]] != END) {
            *d++ = (unsigned char)(half_of[text[0]] << 4 | half_of[text[1]]);
            text += 2;
        }
        bool odd = text < end && half_of[*text] != END;
        *d++ = (unsigned char)(odd ? half_of[*text] << 4 | END : END);
        text += odd;
        if (text - start >= SHORTEST) {
            *r++ = MARK;
            continue;
        }
        for (; start < text; start++) *r++ = *start;
        d = run;
    }
    *rest_size = (size_t)(r - rest);
    *digits_size = (size_t)(d - digits);
    return true;
}

bool kf_numbers_pack(kf_store *store, const void *text, size_t size, void **packed,
                     size_t *packed_size)
{
    *packed = NULL;
    if (!store->dictionary && !(store->dictionary = ZSTD_createCDict(dictionary, DICTIONARY, FAST)))
        return false;
    size_t rest_size, digits_size, bound = HEADER + ZSTD_compressBound(size) + size;
    kf_autofree unsigned char *divided = malloc(2 * size), *result = malloc(bound);
    if (!divided || !result) return false;
    if (!divide(text, size, divided, &rest_size, divided + size, &digits_size)) return true;
    size_t frame = ZSTD_compress_usingCDict(store->compressor, result + HEADER, bound - HEADER,
                                            divided, rest_size, store->dictionary);
    if (ZSTD_isError(frame)) return false;
    uint32_t head[2] = {0, (uint32_t)frame};
    memcpy(result, head, sizeof head);
    memcpy(result + HEADER + frame, divided + size, digits_size);
    *packed_size = HEADER + frame + digits_size;
    head[0] = check_sum(result + sizeof *head, *packed_size - sizeof *head);
    memcpy(result, head, sizeof *head);
    *packed = kf_steal(&result);
    return true;
}

/* ---- unpacking ------------------------------------------------------------------------------- */

/* Puts the runs back; true when that gives exactly `size` bytes. */
static bool unite(const char *rest, size_t rest_size, const unsigned char *digits,
                  size_t digits_size, char *text, size_t size)
{
    const char *rest_end = rest + rest_size, *end = text + size;
    const unsigned char *digits_end = digits + digits_size;
    for (;;) {
        const char *mark = memchr(rest, MARK, (size_t)(rest_end - rest));
        size_t span = (size_t)((mark ? mark : rest_end) - rest);
        if (span > (size_t)(end - text)) return false;
        memcpy(text, rest, span);
        text += span;
        if (!mark) return text == end && digits == digits_end;
        rest = mark + 1;
        const unsigned char *last = digits;
        while (last < digits_end && *last & 15) last++;
        if (last == digits_end) return false;
        bool odd = *last >> 4 != END;
        if (2 * (size_t)(last - digits) + odd > (size_t)(end - text)) return false;
        for (; digits < last; digits++, text += 2) memcpy(text, characters_of[*digits], 2);
        if (odd) *text++ = characters_of[*digits][0];
        digits++;
    }
}

bool kf_numbers_unpack(kf_store *store, const void *packed, size_t packed_size, char *text,
                       size_t size)
{
    const unsigned char *bytes = packed;
    uint32_t head[2];
    if (packed_size < HEADER) return false;
    memcpy(head, bytes, sizeof head);
    if (head[1] > packed_size - HEADER ||
        head[0] != check_sum(bytes + sizeof *head, packed_size - sizeof *head))
        return false;
    if (!store->undictionary && !(store->undictionary = ZSTD_createDDict(dictionary, DICTIONARY)))
        return false;
    kf_autofree char *rest = malloc(size + 1);
    if (!rest) return false;
    size_t rest_size = ZSTD_decompress_usingDDict(store->decompressor, rest, size, bytes + HEADER,
                                                  head[1], store->undictionary);
    return !ZSTD_isError(rest_size) && unite(rest, rest_size, bytes + HEADER + head[1],
                                             packed_size - HEADER - head[1], text, size);
}
