/* Computes four neighbouring elements of an input, the work of one thread of a device. inputs.c has
 * the formulas. Its vectorised loops and this file agree bit for bit
 * (tests/unit/test_inputs_element.c, and tests/gpu on a GPU). This file needs the enumerations of
 * kforge/argument.h, kforge/inputs.h and kforge/dtype.h. A device has no headers, so kernels.c
 * defines their values. */
#ifndef KFORGE_INPUTS_ELEMENT_H
#define KFORGE_INPUTS_ELEMENT_H

#include "dtype_formula.h"
#include "inputs_plan.h"
#include "philox_formula.h"

KF_FORMULA uint64_t kf_bits_of_double(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

KF_FORMULA void kf_plan_block(const kf_input_plan *p, uint32_t purpose, uint64_t block,
                              uint32_t words[4])
{
    kf_stream_block(p->secret, p->set, p->argument, purpose, block, words);
}

/* ---- storing: the low bytes of the result are the element ------------------------------------ */

/* Rounds like kf_store_floats. */
KF_FORMULA uint64_t kf_element_of_float(int dtype, float value)
{
    switch (dtype) {
    case KF_F16: return kf_f16_of_float(value);
    case KF_BF16: return kf_bf16_of_float(value);
    case KF_F8E4M3: return kf_f8_of_float(value, 3);
    case KF_F8E5M2: return kf_f8_of_float(value, 2);
    default: break;
    }
    const float most = 3.402823466e+38f; /* FLT_MAX */
    value = value < most ? value : most;
    return kf_bits_of_float(value > -most ? value : -most);
}

KF_FORMULA int64_t kf_integer_of_double(double value, int64_t low, int64_t high)
{
    if (isnan(value)) return 0;
    double nearest = rint(value);
    if (nearest <= (double)low) return low;
    if (nearest >= (double)high) return high; /* (double)INT64_MAX is 2^63 */
    return (int64_t)nearest;
}

/* Clamps like inputs.c, then rounds like kf_dtype_store. */
KF_FORMULA uint64_t kf_element_of_double(const kf_input_plan *p, double value)
{
    if (p->is_float) value = value > p->most ? p->most : value < -p->most ? -p->most : value;
    switch (p->dtype) {
    case KF_F64: return kf_bits_of_double(value);
    case KF_F16: return kf_narrow_encode(value, 5, 10, 1);
    case KF_BF16: return kf_narrow_encode(value, 8, 7, 1);
    case KF_F8E4M3: return kf_narrow_encode(value, 4, 3, 0);
    case KF_F8E5M2: return kf_narrow_encode(value, 5, 2, 1);
    case KF_I64: return (uint64_t)kf_integer_of_double(value, INT64_MIN, INT64_MAX);
    case KF_I32: return (uint64_t)kf_integer_of_double(value, INT32_MIN, INT32_MAX);
    case KF_I16: return (uint64_t)kf_integer_of_double(value, INT16_MIN, INT16_MAX);
    case KF_I8: return (uint64_t)kf_integer_of_double(value, INT8_MIN, INT8_MAX);
    case KF_U8: return (uint64_t)kf_integer_of_double(value, 0, UINT8_MAX);
    case KF_BOOL: return value != 0;
    default: return kf_bits_of_float((float)value);
    }
}

KF_FORMULA uint64_t kf_element_of_integer(const kf_input_plan *p, int64_t value)
{
    if (p->dtype == KF_I64) return (uint64_t)value;
    if (p->dtype == KF_I32) {
        value = value < INT32_MAX ? value : INT32_MAX;
        return (uint64_t)(value > INT32_MIN ? value : INT32_MIN);
    }
    if (p->dtype == KF_U8) return (uint64_t)(value < 0 ? 0 : value < UINT8_MAX ? value : UINT8_MAX);
    return kf_element_of_double(p, (double)value);
}

/* Returns +inf, -inf or NaN as kf_dtype_store writes them. */
KF_FORMULA uint64_t kf_nonfinite_element(int dtype, uint32_t which)
{
    switch (dtype) {
    case KF_F64:
        return which == 0   ? 0x7ff0000000000000u
               : which == 1 ? 0xfff0000000000000u
                            : 0x7ff8000000000000u;
    case KF_F16: return which == 0 ? 0x7c00 : which == 1 ? 0xfc00 : 0x7e00;
    case KF_BF16: return which == 0 ? 0x7f80 : which == 1 ? 0xff80 : 0x7fc0;
    case KF_F8E4M3: return which == 1 ? 0xff : 0x7f;
    case KF_F8E5M2: return which == 0 ? 0x7c : which == 1 ? 0xfc : 0x7e;
    default: return which == 0 ? 0x7f800000 : which == 1 ? 0xff800000 : 0x7fc00000;
    }
}

/* ---- the three carriers, elements 4 group … 4 group + 3 -------------------------------------- */

KF_FORMULA void kf_four_normals(const uint32_t words[4], float mean, float deviation, float out[4])
{
    for (int i = 0; i < 4; i += 2) {
        float z0, z1;
        kf_normal_pair(words[i], words[i + 1], &z0, &z1);
        out[i] = fmaf(z0, deviation, mean);
        out[i + 1] = fmaf(z1, deviation, mean);
    }
}

KF_FORMULA void kf_four_floats(const kf_input_plan *p, uint64_t group, float out[4])
{
    uint32_t words[4];
    kf_plan_block(p, KF_FOR_VALUES, group, words);
    if (p->kind == KF_NORMAL) {
        kf_four_normals(words, (float)p->a, (float)p->b, out);
    } else if (p->kind == KF_UNIFORM) {
        float low = (float)p->a, range = (float)(p->b - p->a), bottom = (float)p->bottom,
              top = (float)p->top;
        for (int i = 0; i < 4; i++) {
            float value = fmaf(kf_unit_float(words[i]), range, low);
            value = value < top ? value : top;
            out[i] = value > bottom ? value : bottom;
        }
    } else {
        uint32_t more[4];
        kf_plan_block(p, KF_FOR_VALUES_TOO, group, more);
        kf_four_normals(more, 0, (float)p->scale, out);
        for (int i = 0; i < 4; i++) out[i] = words[i] < p->threshold ? out[i] : 0;
    }
}

/* Computes the ascending numbers, below 2^64, of four elements. Neighbours share most of their way
 * down the tree. */
KF_FORMULA void kf_four_ascending(const kf_input_plan *p, uint64_t group, uint64_t out[4])
{
    const int uneven = p->variation == KF_VARY_CLUSTERS;
    const int shared = p->levels < 2 ? p->levels : 2;
    uint64_t last_row = 0, last_stem = 0;
    uint32_t row_word = 0;
    kf_branch stem = kf_branch_root();
    for (int i = 0; i < 4; i++) {
        uint64_t index = 4 * group + (uint64_t)i, row = index / p->last, place = index % p->last;
        if (i == 0 || row != last_row || place >> 2 != last_stem) {
            last_row = row, last_stem = place >> 2;
            row_word = kf_hash_word(row, p->round_keys);
            stem = kf_branch_root();
            for (int level = p->levels; level > shared; level--)
                kf_branch_descend(&stem, place, p->last, level, uneven, row_word, p->round_keys);
        }
        kf_branch at = stem;
        for (int level = shared; level > 0; level--)
            kf_branch_descend(&at, place, p->last, level, uneven, row_word, p->round_keys);
        out[i] = kf_branch_number(&at, row_word, p->round_keys);
    }
}

KF_FORMULA double kf_sorted_value(const kf_input_plan *p, uint64_t number)
{
    double value =
        fma(kf_unit_double((uint32_t)(number >> 32), (uint32_t)number), p->b - p->a, p->a);
    return value > p->top ? p->top : value < p->bottom ? p->bottom : value;
}

KF_FORMULA double kf_matrix_element(const kf_input_plan *p, uint64_t index)
{
    uint64_t column = index % p->last, row = index / p->last % p->rows,
             matrix = index / p->last / p->rows;
    uint64_t n = p->rows > p->last ? p->rows : p->last;
    double u = kf_square_unit(matrix, n, row, column, p->round_keys);
    if (p->kind != KF_POSITIVE_DEFINITE) {
        if (kf_outside_triangle(p->kind == KF_UPPER_TRIANGULAR, p->kind == KF_LOWER_TRIANGULAR, row,
                                column))
            return 0;
        double value = fma(u, p->b - p->a, p->a);
        return value > p->top ? p->top : value < p->bottom ? p->bottom : value;
    }
    return p->scale * (row == column ? fma(p->a, (double)(int64_t)n, u) : fma(2, u, -1));
}

KF_FORMULA void kf_four_doubles(const kf_input_plan *p, uint64_t group, double out[4])
{
    uint32_t words[8];
    if (p->kind == KF_NORMAL || p->kind == KF_UNIFORM || p->kind == KF_SPARSE) {
        uint32_t purpose = p->kind == KF_SPARSE ? KF_FOR_VALUES_TOO : KF_FOR_VALUES;
        kf_plan_block(p, purpose, 2 * group, words);
        kf_plan_block(p, purpose, 2 * group + 1, words + 4);
    }
    if (p->kind == KF_UNIFORM) {
        for (int i = 0; i < 4; i++) {
            double value = fma(kf_unit_double(words[2 * i], words[2 * i + 1]), p->b - p->a, p->a);
            value = value < p->top ? value : p->top;
            out[i] = value > p->bottom ? value : p->bottom;
        }
    } else if (p->kind == KF_NORMAL || p->kind == KF_SPARSE) {
        double mean = p->kind == KF_NORMAL ? p->a : 0,
               deviation = p->kind == KF_NORMAL ? p->b : p->scale;
        for (int i = 0; i < 2; i++) {
            float z0, z1;
            kf_normal_pair(words[4 * i], words[4 * i + 1], &z0, &z1);
            out[2 * i] = fma(kf_refine_normal(z0, words[4 * i + 2]), deviation, mean);
            out[2 * i + 1] = fma(kf_refine_normal(z1, words[4 * i + 3]), deviation, mean);
        }
        if (p->kind == KF_NORMAL) return;
        kf_plan_block(p, KF_FOR_VALUES, group, words);
        for (int i = 0; i < 4; i++) out[i] = words[i] < p->threshold ? out[i] : 0;
    } else if (p->kind == KF_SORTED) {
        uint64_t numbers[4];
        kf_four_ascending(p, group, numbers);
        for (int i = 0; i < 4; i++) out[i] = kf_sorted_value(p, numbers[i]);
    } else if (p->kind == KF_POSITIVE_DEFINITE || p->kind == KF_SYMMETRIC ||
               p->kind == KF_UPPER_TRIANGULAR || p->kind == KF_LOWER_TRIANGULAR) {
        for (int i = 0; i < 4; i++) out[i] = kf_matrix_element(p, 4 * group + (uint64_t)i);
    } else {
        for (int i = 0; i < 4; i++) out[i] = p->a;
    }
}

/* Returns an entry of offsets. The first and the last are given, and `low` is the entry from which
 * on all are the last, if all are equal. */
KF_FORMULA int64_t kf_offset_value(const kf_input_plan *p, uint64_t index, uint64_t number)
{
    if (index == 0) return 0;
    if (index + 1 >= p->elements) return (int64_t)p->a;
    if (p->variation == KF_VARY_EQUAL) return index >= (uint64_t)p->low ? (int64_t)p->a : 0;
    uint32_t high = (uint32_t)(number >> 32), low = (uint32_t)number;
    if (p->b == 1) return (int64_t)kf_below(high, low, (uint64_t)p->a + 1);
    double place = kf_unit_double(high, low);
    double value = place > 0 ? floor(p->a * kf_power_unit(place, p->b)) : 0;
    return value < p->a ? (int64_t)value : (int64_t)p->a;
}

KF_FORMULA int64_t kf_one_hot_value(const kf_input_plan *p, uint64_t index)
{
    uint32_t words[4];
    uint64_t row = p->variation == KF_VARY_EQUAL ? 0 : index / p->last;
    kf_plan_block(p, KF_FOR_VALUES, row / 2, words);
    uint64_t hot =
        row % 2 ? kf_below(words[2], words[3], p->last) : kf_below(words[0], words[1], p->last);
    return index % p->last == hot;
}

KF_FORMULA int64_t kf_permutation_value(const kf_input_plan *p, uint64_t index)
{
    if (p->variation == KF_VARY_CLUSTERS)
        return (int64_t)((index + (uint64_t)p->low) % p->elements);
    return (int64_t)kf_permuted(index, p->elements, p->half_bits, p->round_keys);
}

/* Computes the range of a run of integers in clusters: a part of that of all. */
KF_FORMULA void kf_cluster(const kf_input_plan *p, uint64_t run, int64_t *low, uint64_t *range)
{
    uint32_t words[4];
    kf_plan_block(p, KF_FOR_STRUCTURE, run, words);
    uint64_t start = kf_below(words[0], words[1], p->range);
    *low = (int64_t)((uint64_t)p->low + start);
    *range = 1 + kf_below(words[2], words[3], p->range - start);
}

KF_FORMULA int kf_has_stray(const kf_input_plan *p, uint64_t run)
{
    return p->threshold == KF_ALL_RUNS || p->threshold == run;
}

/* Returns one of the integers from `low`: often the least or the largest, else any. */
KF_FORMULA int64_t kf_stray(int64_t low, uint64_t range, uint32_t w0, uint32_t w1)
{
    uint64_t step = (w1 & 3) == 0 ? 0 : (w1 & 3) == 1 ? range - 1 : kf_below(w0, w1, range);
    return (int64_t)((uint64_t)low + step);
}

KF_FORMULA void kf_four_integers(const kf_input_plan *p, uint64_t group, int64_t out[4])
{
    uint32_t words[8];
    uint64_t first = 4 * group, numbers[4];
    if (p->kind == KF_INTEGERS) {
        int64_t low = p->low;
        uint64_t range = p->range;
        if (p->variation == KF_VARY_CLUSTERS) kf_cluster(p, first / KF_RUN, &low, &range);
        kf_plan_block(p, KF_FOR_VALUES, 2 * group, words);
        kf_plan_block(p, KF_FOR_VALUES, 2 * group + 1, words + 4);
        for (int i = 0; i < 4; i++)
            out[i] = (int64_t)((uint64_t)low + kf_below(words[2 * i], words[2 * i + 1], range));
    } else if (p->kind == KF_PERMUTATION) {
        for (int i = 0; i < 4; i++)
            out[i] = first + (uint64_t)i < p->elements
                         ? kf_permutation_value(p, first + (uint64_t)i)
                         : 0;
    } else if (p->kind == KF_SORTED) {
        kf_four_ascending(p, group, numbers);
        for (int i = 0; i < 4; i++)
            out[i] = (int64_t)((uint64_t)p->low + kf_below((uint32_t)(numbers[i] >> 32),
                                                           (uint32_t)numbers[i], p->range));
    } else if (p->kind == KF_OFFSETS) {
        kf_four_ascending(p, group, numbers);
        for (int i = 0; i < 4; i++) out[i] = kf_offset_value(p, first + (uint64_t)i, numbers[i]);
    } else if (p->kind == KF_SIGNS) {
        kf_plan_block(p, KF_FOR_VALUES, group, words);
        for (int i = 0; i < 4; i++) out[i] = words[i] < p->threshold ? 1 : -1;
    } else {
        for (int i = 0; i < 4; i++) out[i] = kf_one_hot_value(p, first + (uint64_t)i);
    }
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* Returns the place of the run's special element in the group; 4 or more if it is in another group.
 */
KF_FORMULA uint64_t kf_special_of_group(const kf_input_plan *p, uint64_t group,
                                        const uint32_t words[4])
{
    uint64_t run = 4 * group / KF_RUN, left = p->elements - run * KF_RUN;
    return run * KF_RUN + kf_below(words[0], words[1], left < KF_RUN ? left : KF_RUN) - 4 * group;
}

/* Elements 4 group … 4 group + 3 by the carrier, each in the low bytes of its word; `special`, if
 * it is one of them, is an outlier. Elements past the end are computed like the others. */
KF_FORMULA void kf_carried_floats(const kf_input_plan *p, uint64_t group, uint64_t special,
                                  uint64_t elements[4])
{
    float values[4];
    kf_four_floats(p, group, values);
    if (p->variation == KF_VARY_CANCELLATION)
        for (int i = 0; i < 4; i += 2) values[i + 1] = fmaf(values[i + 1], 0x1p-6f, -values[i]);
    for (uint64_t i = 0; i < 4; i++)
        elements[i] = kf_element_of_float(p->dtype, i == special ? values[i] * 32 : values[i]);
}

KF_FORMULA void kf_carried_doubles(const kf_input_plan *p, uint64_t group, uint64_t special,
                                   uint64_t elements[4])
{
    double values[4];
    kf_four_doubles(p, group, values);
    if (p->variation == KF_VARY_CANCELLATION)
        for (int i = 0; i < 4; i += 2) values[i + 1] = fma(values[i + 1], 0x1p-6, -values[i]);
    for (uint64_t i = 0; i < 4; i++)
        elements[i] = kf_element_of_double(p, i == special ? values[i] * 32 : values[i]);
}

KF_FORMULA void kf_carried_integers(const kf_input_plan *p, uint64_t group, uint64_t elements[4])
{
    int64_t values[4];
    kf_four_integers(p, group, values);
    for (int i = 0; i < 4; i++) elements[i] = kf_element_of_integer(p, values[i]);
}

/* Computes the four elements with their variation. */
KF_FORMULA void kf_input_four(const kf_input_plan *p, uint64_t group, uint64_t elements[4])
{
    uint32_t words[4] = {0};
    uint64_t special = 4;
    if (p->variation == KF_VARY_OUTLIER || p->variation == KF_VARY_STRAY) {
        kf_plan_block(p, KF_FOR_OUTLIERS, 4 * group / KF_RUN, words);
        special = kf_special_of_group(p, group, words);
    }
    if (p->carrier == KF_CARRY_FLOATS)
        kf_carried_floats(p, group, special, elements);
    else if (p->carrier == KF_CARRY_DOUBLES)
        kf_carried_doubles(p, group, special, elements);
    else
        kf_carried_integers(p, group, elements);
    if (p->variation == KF_VARY_STRAY && special < 4 && kf_has_stray(p, 4 * group / KF_RUN)) {
        uint64_t stray =
            kf_element_of_integer(p, kf_stray(p->stray_low, p->stray_range, words[2], words[3]));
        for (uint64_t i = 0; i < 4; i++) elements[i] = i == special ? stray : elements[i];
    }
    if (p->variation != KF_VARY_NONFINITE) return;
    kf_plan_block(p, KF_FOR_NONFINITE, 4 * group / KF_RUN, words);
    if (4 * group >= KF_RUN && words[2] % 16 != 0) return;
    special = kf_special_of_group(p, group, words);
    for (uint64_t i = 0; i < 4; i++)
        elements[i] = i == special ? kf_nonfinite_element(p->dtype, words[3] % 3) : elements[i];
}

#endif
