/* Reads results from a stopped process. A strided result may span far more memory than it has, so
 * it is read in pieces, from which the elements are copied. */
#include "output_directory.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "output_directory_wire.h"

/* The span of a strided result is at most this multiple of its size, or SPAN_MIN. */
#define SPAN_FACTOR 64
#define SPAN_MIN ((uint64_t)64 << 20)
/* Memory for a piece of a strided result. */
#define PIECE ((uint64_t)4 << 20)
#define HAS_TO_STAY "a result has to stay as it is when forward is called again"

struct kf_output_directory {
    int fd;
    uint32_t sets, outputs;
    size_t record, size;
    unsigned char *memory;
    /* The records that kf_output_directory_remember copied. NULL before its first call. */
    unsigned char *remembered;
    bool *is_remembered; /* by set */
    /* The records that kf_output_directory_hold copied. */
    unsigned char *held;
    uint32_t held_count;
};

kf_output_directory *kf_output_directory_new(uint32_t sets, uint32_t outputs, kf_error *error)
{
    kf_output_directory *output_directory = calloc(1, sizeof *output_directory);
    if (!output_directory) {
        kf_fail_memory(error, "an output directory");
        return NULL;
    }
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    *output_directory =
        (kf_output_directory){.sets = sets, .outputs = outputs, .memory = MAP_FAILED};
    output_directory->record =
        sizeof(kf_output_directory_head) + outputs * sizeof(kf_output_directory_entry);
    output_directory->size = (sets * output_directory->record + page - 1) / page * page;
    output_directory->fd = memfd_create("kforge-ledger", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (output_directory->fd >= 0 &&
        ftruncate(output_directory->fd, (off_t)output_directory->size) == 0 &&
        fcntl(output_directory->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
        output_directory->memory = mmap(NULL, output_directory->size, PROT_READ | PROT_WRITE,
                                        MAP_SHARED, output_directory->fd, 0);
    if (output_directory->memory != MAP_FAILED) return output_directory;
    kf_fail(error, KF_ERROR_MACHINE, "no shared memory of %zu bytes: %s", output_directory->size,
            strerror(errno));
    kf_output_directory_free(output_directory);
    return NULL;
}

void kf_output_directory_free(kf_output_directory *output_directory)
{
    if (!output_directory) return;
    if (output_directory->memory != MAP_FAILED)
        munmap(output_directory->memory, output_directory->size);
    if (output_directory->fd >= 0) close(output_directory->fd);
    free(output_directory->remembered);
    free(output_directory->is_remembered);
    free(output_directory->held);
    free(output_directory);
}

void kf_output_directory_clear(kf_output_directory *output_directory)
{
    if (!output_directory) return;
    output_directory->held_count = 0;
    if (output_directory->is_remembered)
        memset(output_directory->is_remembered, 0,
               output_directory->sets * sizeof *output_directory->is_remembered);
    for (uint32_t set = 0; set < output_directory->sets; set++)
        for (uint32_t output = 0; output < output_directory->outputs; output++) {
            unsigned char *entry = output_directory->memory + set * output_directory->record +
                                   sizeof(kf_output_directory_head) +
                                   output * sizeof(kf_output_directory_entry);
            memset(entry + offsetof(kf_output_directory_entry, address), 0, sizeof(uint64_t));
        }
}

kf_runner_buffer kf_output_directory_buffer(const kf_output_directory *output_directory)
{
    return (kf_runner_buffer){.fd = output_directory->fd,
                              .length = output_directory->size,
                              .bytes = output_directory->size,
                              .output_directory = true};
}

bool kf_output_directory_remember(kf_output_directory *output_directory, const uint32_t *list,
                                  uint32_t count)
{
    if (!output_directory->remembered)
        output_directory->remembered = calloc(output_directory->sets, output_directory->record);
    if (!output_directory->is_remembered)
        output_directory->is_remembered =
            calloc(output_directory->sets, sizeof *output_directory->is_remembered);
    if (!output_directory->remembered || !output_directory->is_remembered) return false;
    for (uint32_t k = 0; k < count; k++) {
        memcpy(output_directory->remembered + list[k] * output_directory->record,
               output_directory->memory + list[k] * output_directory->record,
               output_directory->record);
        output_directory->is_remembered[list[k]] = true;
    }
    return true;
}

static const unsigned char *record_of(const kf_output_directory *output_directory, uint32_t set)
{
    bool remembered = output_directory->is_remembered && output_directory->is_remembered[set];
    return (remembered ? output_directory->remembered : output_directory->memory) +
           set * output_directory->record;
}

bool kf_output_directory_hold(kf_output_directory *output_directory, const uint32_t *list,
                              uint32_t count)
{
    if (!output_directory->held)
        output_directory->held = calloc(output_directory->sets, output_directory->record);
    if (!output_directory->held) return false;
    for (uint32_t k = 0; k < count; k++)
        memcpy(output_directory->held + k * output_directory->record,
               record_of(output_directory, list[k]), output_directory->record);
    output_directory->held_count = count;
    return true;
}

/* Copies a record, since the runner can change the shared one. */
static kf_output_directory_head head_of(const kf_output_directory *output_directory, uint32_t set)
{
    kf_output_directory_head head;
    memcpy(&head, record_of(output_directory, set), sizeof head);
    return head;
}

static kf_output_directory_entry entry_in(const unsigned char *record, uint32_t output)
{
    kf_output_directory_entry entry;
    memcpy(&entry, record + sizeof(kf_output_directory_head) + output * sizeof entry, sizeof entry);
    return entry;
}

static kf_output_directory_entry entry_of(const kf_output_directory *output_directory, uint32_t set,
                                          uint32_t output)
{
    return entry_in(record_of(output_directory, set), output);
}

__attribute__((format(printf, 5, 6))) static void find(kf_fetch_fault *fault, uint32_t set,
                                                       int argument, const char *rule,
                                                       const char *format, ...)
{
    va_list arguments;
    fault->set = (int)set;
    fault->argument = argument;
    snprintf(fault->rule, sizeof fault->rule, "%s", rule);
    va_start(arguments, format);
    vsnprintf(fault->text, sizeof fault->text, format, arguments);
    va_end(arguments);
}

static const char *shape_text(char text[160], const int64_t *sizes, uint32_t dims)
{
    size_t used = (size_t)snprintf(text, 160, "[");
    for (uint32_t i = 0; i < dims && i < KF_OUTPUT_DIRECTORY_DIMS && used < 150; i++)
        used +=
            (size_t)snprintf(text + used, 160 - used, "%s%lld", i ? ", " : "", (long long)sizes[i]);
    snprintf(text + (used < 158 ? used : 158), 160 - (used < 158 ? used : 158), "%s]",
             dims > KF_OUTPUT_DIRECTORY_DIMS ? ", …" : "");
    return text;
}

/* True if the claimed tensor has the task's shape. A single number may have no extents. */
static bool same_shape(const kf_output_directory_entry *entry, const kf_problem_argument *argument)
{
    if (entry->dims == 0) return argument->elements == 1 && argument->dims == 1;
    if (entry->dims != (uint32_t)argument->dims) return false;
    for (int i = 0; i < argument->dims; i++)
        if (entry->sizes[i] != argument->shape[i]) return false;
    return true;
}

static bool is_contiguous(const kf_output_directory_entry *entry)
{
    int64_t step = 1;
    for (uint32_t i = entry->dims; i-- > 0;) {
        if (entry->sizes[i] != 1 && entry->strides[i] != step) return false;
        step *= entry->sizes[i];
    }
    return true;
}

/* Returns the span of the tensor in bytes; 0 if the span is far larger than the data, or a stride
 * is negative. */
static uint64_t span_of(const kf_output_directory_entry *entry, uint64_t item, uint64_t bytes)
{
    uint64_t last = 0, most = bytes > SPAN_MIN / SPAN_FACTOR ? bytes * SPAN_FACTOR : SPAN_MIN;
    for (uint32_t i = 0; i < entry->dims && i < KF_OUTPUT_DIRECTORY_DIMS; i++) {
        if (entry->sizes[i] <= 1) continue;
        if (entry->strides[i] < 0 || (uint64_t)entry->strides[i] > most / (uint64_t)entry->sizes[i])
            return 0;
        last += (uint64_t)entry->strides[i] * ((uint64_t)entry->sizes[i] - 1);
    }
    return (last + 1) * item <= most ? (last + 1) * item : 0;
}

/* Reads all bytes, or returns false with errno. */
static bool read_memory(pid_t pid, uint64_t address, void *data, uint64_t size)
{
    for (uint64_t done = 0; done < size;) {
        struct iovec here = {(char *)data + done, size - done},
                     there = {(void *)(uintptr_t)(address + done), size - done};
        ssize_t got = process_vm_readv(pid, &here, 1, &there, 1, 0);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) {
            if (got == 0) errno = EFAULT;
            return false;
        }
        done += (uint64_t)got;
    }
    return true;
}

/* An extent of a result. The steps are in elements, of the runner's memory and of the copy. */
typedef struct axis {
    int64_t size, from, to;
} axis;

/* Moves to the next index of the axes. False after the last one. */
static bool next_index(const axis *axes, uint32_t count, int64_t *index, int64_t *from, int64_t *to)
{
    for (uint32_t i = count; i-- > 0;) {
        *from += axes[i].from;
        *to += axes[i].to;
        if (++index[i] < axes[i].size) return true;
        *from -= axes[i].from * axes[i].size;
        *to -= axes[i].to * axes[i].size;
        index[i] = 0;
    }
    return false;
}

static void copy_piece(const axis *axes, uint32_t count, const char *from, char *to, size_t item)
{
    int64_t index[KF_OUTPUT_DIRECTORY_DIMS] = {0}, there = 0, here = 0;
    do memcpy(to + (size_t)here * item, from + (size_t)there * item, item);
    while (next_index(axes, count, index, &there, &here));
}

/* Fills the axes by falling steps, so that the last ones make the smallest pieces. */
static void sort_axes(const kf_output_directory_place *place, axis *axes)
{
    int64_t step = 1;
    for (uint32_t i = place->dims, count = 0; i-- > 0; count++) {
        axis added = {place->sizes[i], place->sizes[i] > 1 ? place->strides[i] : 0, step};
        uint32_t at = count;
        for (; at > 0 && axes[at - 1].from < added.from; at--) axes[at] = axes[at - 1];
        axes[at] = added;
        step *= place->sizes[i];
    }
}

/* Copies a strided result element by element. For one that overlaps itself: pieces of it would be
 * read again and again. */
static bool gather(pid_t pid, const kf_output_directory_place *place, const axis *axes, size_t item,
                   char *data)
{
    enum { AT_ONCE = 1024 };
    struct iovec here[AT_ONCE], there[AT_ONCE];
    int64_t index[KF_OUTPUT_DIRECTORY_DIMS] = {0}, from = 0, to = 0;
    for (bool more = true; more;) {
        size_t count = 0;
        for (; more && count < AT_ONCE; count++) {
            here[count] = (struct iovec){data + (size_t)to * item, item};
            there[count] =
                (struct iovec){(void *)(uintptr_t)(place->address + (uint64_t)from * item), item};
            more = next_index(axes, place->dims, index, &from, &to);
        }
        ssize_t got;
        do got = process_vm_readv(pid, here, count, there, count, 0);
        while (got < 0 && errno == EINTR);
        if (got == (ssize_t)(count * item)) continue;
        if (got >= 0) errno = EFAULT;
        return false;
    }
    return true;
}

/* Copies a strided result into `data`, contiguous. `piece` has room for PIECE bytes, or for the
 * whole span if that is less. False with errno. */
static bool read_strided(pid_t pid, const kf_output_directory_place *place, size_t item,
                         char *piece, char *data)
{
    axis axes[KF_OUTPUT_DIRECTORY_DIMS] = {{0}};
    int64_t index[KF_OUTPUT_DIRECTORY_DIMS] = {0}, from = 0, to = 0, whole = 1,
            most = (int64_t)(PIECE / item);
    uint32_t split = place->dims;
    sort_axes(place, axes);
    /* The axes from `split` on fit into a piece, and of the one before so many indices. */
    for (; split > 0 && whole + (axes[split - 1].size - 1) * axes[split - 1].from <= most; split--)
        whole += (axes[split - 1].size - 1) * axes[split - 1].from;
    if (split == 0) {
        if (!read_memory(pid, place->address, piece, (uint64_t)whole * item)) return false;
        copy_piece(axes, place->dims, piece, data, item);
        return true;
    }
    axis *parted = &axes[split - 1];
    const int64_t size = parted->size, part = 1 + (most - whole) / parted->from,
                  parts = 1 + (size - 1) / part;
    double wanted = 1,
           read = (double)(size - 1) * (double)parted->from + (double)whole * (double)parts;
    for (uint32_t i = 0; i < place->dims; i++) wanted *= (double)axes[i].size;
    for (uint32_t i = 0; i + 1 < split; i++) read *= (double)axes[i].size;
    if (read > SPAN_FACTOR * fmax(wanted, (double)most))
        return gather(pid, place, axes, item, data);
    do {
        for (int64_t first = 0; first < size; first += part) {
            parted->size = size - first < part ? size - first : part;
            uint64_t bytes = (uint64_t)(whole + (parted->size - 1) * parted->from) * item,
                     there = (uint64_t)(from + first * parted->from) * item;
            if (!read_memory(pid, place->address + there, piece, bytes)) return false;
            copy_piece(parted, place->dims - split + 1, piece,
                       data + (size_t)(to + first * parted->to) * item, item);
        }
    } while (next_index(axes, split - 1, index, &from, &to));
    return true;
}

static bool check_entry(const kf_output_directory *output_directory, uint32_t set, uint32_t output,
                        const kf_problem_argument *argument, int number,
                        kf_output_directory_entry *entry, kf_fetch_fault *fault)
{
    char found[160], wanted[160];
    kf_output_directory_head head = head_of(output_directory, set);
    if (head.flaw == KF_OUTPUT_DIRECTORY_TYPE)
        find(fault, set, number, "output.type", "forward returned %s; expected %s",
             head.tensors ? "a tuple, list or dict" : "something that is no tensor",
             output_directory->outputs == 1 ? "one tensor"
                                            : "as many tensors as the task has outputs");
    else if (head.flaw == KF_OUTPUT_DIRECTORY_REPLACED)
        find(fault, set, number, "output.aliased",
             "a later call's result has replaced it, as with torch.compile's CUDA "
             "graphs: " HAS_TO_STAY " (clone it)");
    else if (head.flaw != KF_OUTPUT_DIRECTORY_FINE)
        find(fault, set, number, "output.type",
             "forward returned a tensor that is sparse or on another device");
    else if (head.tensors != output_directory->outputs)
        find(fault, set, number, "output.count", "forward returned %u tensors; expected %u",
             head.tensors, output_directory->outputs);
    if (fault->rule[0]) return false;
    *entry = entry_of(output_directory, set, output);
    kf_dtype dtype = argument->dtype == KF_TF32 ? KF_F32 : argument->dtype;
    if (!same_shape(entry, argument))
        find(fault, set, number, "output.shape", "%s has the shape %s; expected %s", argument->name,
             shape_text(found, entry->sizes, entry->dims),
             shape_text(wanted, argument->shape, (uint32_t)argument->dims));
    else if (entry->dtype != (uint32_t)dtype)
        find(fault, set, number, "output.dtype", "%s is of dtype %s; expected %s", argument->name,
             entry->dtype < KF_DTYPE_COUNT ? kf_dtype_name((kf_dtype)entry->dtype) : "another kind",
             kf_dtype_name(dtype));
    return !fault->rule[0];
}

void kf_output_directory_unreadable(kf_fetch_fault *fault, uint32_t set, int argument_number,
                                    const kf_problem_argument *argument, const char *why)
{
    find(fault, set, argument_number, "output.unreadable", "%s: %s", argument->name, why);
}

bool kf_output_directory_locate(const kf_output_directory *output_directory, uint32_t set,
                                uint32_t output, const kf_problem_argument *argument,
                                int argument_number, kf_output_directory_place *place,
                                kf_fetch_fault *fault)
{
    kf_output_directory_entry entry;
    if (!check_entry(output_directory, set, output, argument, argument_number, &entry, fault))
        return false;
    *place = (kf_output_directory_place){
        .address = entry.address, .plain = is_contiguous(&entry), .dims = entry.dims};
    memcpy(place->sizes, entry.sizes, sizeof place->sizes);
    memcpy(place->strides, entry.strides, sizeof place->strides);
    place->span = place->plain ? argument->bytes
                               : span_of(&entry, kf_dtype_size(argument->dtype), argument->bytes);
    if (place->span) return true;
    find(fault, set, argument_number, "output.unreadable",
         "%s is a view that reaches over too much memory", argument->name);
    return false;
}

bool kf_output_directory_fetch(const kf_output_directory *output_directory, pid_t pid, uint32_t set,
                               uint32_t output, const kf_problem_argument *argument,
                               int argument_number, void *data, kf_fetch_fault *fault,
                               kf_error *error)
{
    kf_output_directory_place place;
    if (!kf_output_directory_locate(output_directory, set, output, argument, argument_number,
                                    &place, fault))
        return true;
    size_t item = kf_dtype_size(argument->dtype);
    kf_autofree char *piece = place.plain ? NULL : malloc(place.span < PIECE ? place.span : PIECE);
    if (!place.plain && !piece) return kf_fail_memory(error, "a result");
    bool read = place.plain ? read_memory(pid, place.address, data, place.span)
                            : read_strided(pid, &place, item, piece, data);
    if (!read) {
        fault->machine = errno == EPERM || errno == EACCES || errno == ENOSYS;
        find(fault, set, argument_number, "output.unreadable",
             fault->machine ? "%s: the judge may not read its runner's memory: %s"
                            : "%s: there is no memory where it is said to be: %s",
             argument->name, strerror(errno));
        return true;
    }
    return true;
}

/* ---- sharing memory -------------------------------------------------------------------------- */

/* `call`: the number of its record, those of sets before those that are held. */
typedef struct range {
    uint64_t first, end;
    uint32_t call, output;
} range;

/* Adds the readable results of a record. */
static void add_ranges(const kf_output_directory *output_directory, const unsigned char *record,
                       uint32_t call, range *ranges, size_t *used)
{
    kf_output_directory_head head;
    memcpy(&head, record, sizeof head);
    for (uint32_t output = 0; output < output_directory->outputs; output++) {
        kf_output_directory_entry entry = entry_in(record, output);
        if (!entry.address || head.flaw || entry.dtype >= KF_DTYPE_COUNT ||
            entry.dims > KF_OUTPUT_DIRECTORY_DIMS)
            continue;
        uint64_t item = kf_dtype_size((kf_dtype)entry.dtype), bytes = item;
        for (uint32_t i = 0; i < entry.dims; i++)
            bytes *= entry.sizes[i] > 0 ? (uint64_t)entry.sizes[i] : 1;
        uint64_t span = span_of(&entry, item, bytes);
        if (span) ranges[(*used)++] = (range){entry.address, entry.address + span, call, output};
    }
}

static int by_address(const void *a, const void *b)
{
    const range *one = a, *other = b;
    return one->first < other->first ? -1 : one->first > other->first;
}

bool kf_output_directory_check_overlap(const kf_output_directory *output_directory,
                                       const bool *chosen, uint32_t sets, const int *arguments,
                                       kf_fetch_fault *fault, kf_error *error)
{
    kf_autofree range *ranges =
        calloc(2 * (size_t)sets * output_directory->outputs + 1, sizeof *ranges);
    size_t used = 0;
    if (!ranges) return kf_fail_memory(error, "an output directory");
    for (uint32_t set = 0; set < sets; set++)
        if (chosen[set])
            add_ranges(output_directory, record_of(output_directory, set), set, ranges, &used);
    for (uint32_t k = 0; k < output_directory->held_count; k++)
        add_ranges(output_directory, output_directory->held + k * output_directory->record,
                   sets + k, ranges, &used);
    qsort(ranges, used, sizeof *ranges, by_address);
    for (size_t i = 1, widest = 0; i < used; i++) {
        if (ranges[i].first < ranges[widest].end && ranges[i].call != ranges[widest].call) {
            find(fault, ranges[i].call % sets, arguments[ranges[i].output], "output.aliased",
                 "two calls returned results that share memory: " HAS_TO_STAY);
            return true;
        }
        if (ranges[i].end > ranges[widest].end) widest = i;
    }
    return true;
}
