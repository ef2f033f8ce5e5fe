/* Reading texts as schemas 1 to 5 packed them, for the migration that re-encodes them (migrate.c).
 * Nothing is written in these codecs any more.
 *
 *   0  the text itself
 *   1  a zstd frame without checksum
 *   2  texts that are mostly numbers: verdicts and counters
 *
 * Codec 2 took runs of digits out of the text, two characters to a byte, before zstd packed the
 * rest with a dictionary:
 *
 *     u32 check, u32 bytes of the frame, the frame, digits
 *
 * The frame unpacks to the text with MARK for every run that was taken out. `digits` holds these
 * runs one after another, the high half of a byte first. The low half END ends a run: the high half
 * is the last character of a run of odd length, else END, too. `check` is a sum over everything
 * after it. Numbers are little-endian. */
#include "internal.h"

#include <string.h>

enum { RAW = 0, ZSTD = 1, NUMBERS = 2 };

#define MARK '\1'
#define HEADER 8

/* The two characters of a byte of digits. Half a byte is END, or one more than the place of a
 * character in "0123456789.-e,+". */
enum { END = 0 };
#define PAIRS(c)                                                                            \
    {c, 0}, {c, '0'}, {c, '1'}, {c, '2'}, {c, '3'}, {c, '4'}, {c, '5'}, {c, '6'}, {c, '7'}, \
        {c, '8'}, {c, '9'}, {c, '.'}, {c, '-'}, {c, 'e'}, {c, ','},                         \
    {                                                                                       \
        c, '+'                                                                              \
    }
static const char characters_of[256][2] = {
    PAIRS(0),   PAIRS('0'), PAIRS('1'), PAIRS('2'), PAIRS('3'), PAIRS('4'), PAIRS('5'), PAIRS('6'),
    PAIRS('7'), PAIRS('8'), PAIRS('9'), PAIRS('.'), PAIRS('-'), PAIRS('e'), PAIRS(','), PAIRS('+')};

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

/* Puts the runs back. True if that gives exactly `size` bytes. */
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

/* Unpacks codec 2. `rest` has room for `size` bytes. False if the packed text is damaged. */
static bool unpack_numbers(ZSTD_DCtx *decompressor, const unsigned char *packed, size_t packed_size,
                           char *rest, char *text, size_t size)
{
    uint32_t head[2];
    if (packed_size < HEADER) return false;
    memcpy(head, packed, sizeof head);
    if (head[1] > packed_size - HEADER ||
        head[0] != check_sum(packed + sizeof *head, packed_size - sizeof *head))
        return false;
    size_t rest_size = ZSTD_decompress_usingDict(decompressor, rest, size, packed + HEADER, head[1],
                                                 dictionary, DICTIONARY);
    return !ZSTD_isError(rest_size) && unite(rest, rest_size, packed + HEADER + head[1],
                                             packed_size - HEADER - head[1], text, size);
}

bool kf_old_unpack(const kf_packed *packed, char **text, kf_error *error)
{
    *text = NULL;
    if (packed->size < 0 || packed->size > KF_STORE_BLOB_BYTES) return true;
    size_t size = (size_t)packed->size;
    ZSTD_DCtx *decompressor = ZSTD_createDCtx();
    kf_autofree char *result = malloc(size + 1), *rest = malloc(size + 1);
    bool good = false;
    if (decompressor && result && rest) switch (packed->codec) {
        case RAW:
            good = packed->data_size == size;
            if (good && size) memcpy(result, packed->data, size);
            break;
        case ZSTD:
            good = ZSTD_decompressDCtx(decompressor, result, size, packed->data,
                                       packed->data_size) == size;
            break;
        case NUMBERS:
            good =
                unpack_numbers(decompressor, packed->data, packed->data_size, rest, result, size);
        }
    bool memory = decompressor && result && rest;
    ZSTD_freeDCtx(decompressor);
    if (!memory) return kf_fail_memory(error, "a text");
    if (good) *text = kf_steal(&result);
    return true;
}
