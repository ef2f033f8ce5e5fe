/* Handing finished rows to the sink, and dropping rows that would leak code of test tasks. */
#include "export_internal.h"
#include "export_shape.h"

bool kf_export_count_leak(kf_exporter *e, kf_split split, bool found)
{
    if (split != KF_SPLIT_TRAIN || !found) return false;
    e->report->leaks++;
    return !e->options->keep_leaks;
}

bool kf_export_leaks(kf_exporter *e, kf_split split, const char *text, size_t size)
{
    return kf_export_count_leak(
        e, split, split == KF_SPLIT_TRAIN && text && kf_leak_found(&e->prints, text, size));
}

bool kf_export_emit(kf_exporter *e, kf_split split, kf_error *error)
{
    if (e->row.failed || e->seen.failed) return kf_fail_memory(error, "an export");
    const char *name = split == KF_SPLIT_TEST ? "test" : "train";
    const kf_buffer *row = &e->row;
    if (e->options->shape) {
        if (!kf_shape_row(e->options->shape, row, name, e->report->rows, &e->shaped, error))
            return false;
        row = &e->shaped;
    }
    if (!e->sink(e->context, name, row->data, row->size, error)) return false;
    e->report->rows++;
    (*(split == KF_SPLIT_TEST ? &e->report->test : &e->report->train))++;
    return true;
}
