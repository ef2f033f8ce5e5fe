/* Gives a finished row the columns that the options ask for, hands it to the sink and counts it. */
#include "export_internal.h"
#include "export_shape.h"

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
