/* libkfcalls: the part of a runner in Python that is repeated for each call
 * (evaluator/torch/runner.py calls it through ctypes). It sets the arguments of a call, calls the
 * module, and writes where the result lies.
 *
 * A solution can leave out this work and do it in another way, so the work has to be short: in
 * Python it took as long as a small call. Usual results, one tensor of the expected kind, need no
 * Python code at all. output_directory.py writes the others.
 *
 * It uses functions of Python's stable ABI, which the interpreter exports, so one library serves
 * all versions. Nothing here is trusted. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

#include "output_directory_wire.h"

#define EXPORT __attribute__((visibility("default")))

/* ---- Python's stable ABI --------------------------------------------------------------------- */

typedef struct _object PyObject;
enum { PY_EQUAL = 2 };

extern void Py_IncRef(PyObject *object);
extern void Py_DecRef(PyObject *object);
extern PyObject *PyObject_Call(PyObject *callable, PyObject *arguments, PyObject *named);
extern PyObject *PyObject_CallFunctionObjArgs(PyObject *callable, ...);
extern PyObject *PyObject_CallMethodObjArgs(PyObject *object, PyObject *name, ...);
extern PyObject *PyObject_GetAttr(PyObject *object, PyObject *name);
extern int PyObject_SetAttr(PyObject *object, PyObject *name, PyObject *value);
extern int PyObject_RichCompareBool(PyObject *left, PyObject *right, int how);
extern int PyObject_IsTrue(PyObject *object);
extern PyObject *PyObject_Type(PyObject *object);
extern PyObject *PyDict_GetItem(PyObject *dict, PyObject *key);
extern PyObject *PyList_GetItem(PyObject *list, ssize_t index);
extern int PyList_SetItem(PyObject *list, ssize_t index, PyObject *item);
extern ssize_t PyList_Size(PyObject *list);
extern PyObject *PyTuple_GetItem(PyObject *tuple, ssize_t index);
extern ssize_t PyTuple_Size(PyObject *tuple);
extern PyObject *PyUnicode_InternFromString(const char *text);
extern unsigned long PyLong_AsUnsignedLong(PyObject *number);
extern unsigned long long PyLong_AsUnsignedLongLong(PyObject *number);
extern PyObject *PyErr_Occurred(void);
extern void PyErr_Clear(void);

/* What every usual result is, and where the output directory is. output_directory.py fills it in
 * and keeps the objects (Recorder). */
typedef struct kf_calls_plan {
    unsigned char *directory;
    uint64_t stride, count;
    /* Of each set, 0 once its record was written by Python. */
    unsigned char *plain;
    PyObject *type, *dtype, *shape; /* without gaps */
    PyObject *device_test;          /* "is_cpu" or "is_cuda" */
    /* Memory that the judge counts from elsewhere. */
    uint64_t first, end, delta;
} kf_calls_plan;

EXPORT int kf_calls_make(PyObject *module, PyObject *prepare, PyObject *prepared, PyObject *order,
                         PyObject *results, PyObject *nothing, void (*begin)(uint32_t number),
                         uint32_t *begun, uint32_t from, uint32_t to);
EXPORT int kf_calls_record(const kf_calls_plan *plan, PyObject *order, PyObject *results,
                           PyObject *write);

/* ---- calls ----------------------------------------------------------------------------------- */

/* Gives the module's parameters and buffers the memory of a set. */
static bool set_state(PyObject *state)
{
    static PyObject *data;
    if (!data && !(data = PyUnicode_InternFromString("data"))) return false;
    ssize_t count = PyList_Size(state);
    for (ssize_t i = 0; i < count; i++) {
        PyObject *pair = PyList_GetItem(state, i);
        if (PyObject_SetAttr(PyTuple_GetItem(pair, 0), data, PyTuple_GetItem(pair, 1)) < 0)
            return false;
    }
    return true;
}

/* Returns (arguments, state) of a set, borrowed: `prepare` adds it to `prepared`. */
static PyObject *arguments_of(PyObject *prepare, PyObject *prepared, PyObject *number)
{
    PyObject *found = PyDict_GetItem(prepared, number);
    if (found || PyErr_Occurred()) return found;
    PyObject *made = PyObject_CallFunctionObjArgs(prepare, number, NULL);
    if (!made) return NULL;
    Py_DecRef(made);
    return PyDict_GetItem(prepared, number);
}

/* Makes the calls [from, to) of the batch `order`, and keeps the last result of each set in
 * `results`. `module` NULL: does everything but call, with `nothing` as the result. `begin` NULL:
 * a call waits for no turn. `begun`: of a kf_wire_progress, or NULL. Returns -1 with Python's
 * error. */
int kf_calls_make(PyObject *module, PyObject *prepare, PyObject *prepared, PyObject *order,
                  PyObject *results, PyObject *nothing, void (*begin)(uint32_t number),
                  uint32_t *begun, uint32_t from, uint32_t to)
{
    for (uint32_t i = from; i < to; i++) {
        PyObject *number = PyTuple_GetItem(order, i);
        PyObject *set = number ? arguments_of(prepare, prepared, number) : NULL;
        if (!set || !set_state(PyTuple_GetItem(set, 1))) return -1;
        if (begin) begin(i);
        if (begun) __atomic_store_n(begun, i + 1, __ATOMIC_SEQ_CST);
        PyObject *result = nothing;
        if (module)
            result = PyObject_Call(module, PyTuple_GetItem(set, 0), NULL);
        else
            Py_IncRef(result);
        if (!result || PyList_SetItem(results, (ssize_t)PyLong_AsUnsignedLong(number), result) < 0)
            return -1;
    }
    return 0;
}

/* ---- results --------------------------------------------------------------------------------- */

/* Takes over `value`. */
static bool equals(PyObject *value, PyObject *expected)
{
    bool equal = value && PyObject_RichCompareBool(value, expected, PY_EQUAL) == 1;
    if (value) Py_DecRef(value);
    return equal;
}

static bool is_true(PyObject *value)
{
    bool result = value && PyObject_IsTrue(value) == 1;
    if (value) Py_DecRef(value);
    return result;
}

static PyObject *call_method(PyObject *object, PyObject *name)
{
    return PyObject_CallMethodObjArgs(object, name, NULL);
}

static bool is_of_type(PyObject *object, PyObject *type)
{
    PyObject *own = PyObject_Type(object);
    if (own) Py_DecRef(own);
    return own == type;
}

/* True if a result is as expected. *address: where it lies, as the judge counts. */
static bool is_usual(const kf_calls_plan *p, PyObject *result, uint64_t *address)
{
    static PyObject *dtype, *shape, *is_contiguous, *is_neg, *data_ptr;
    if (!data_ptr) {
        dtype = PyUnicode_InternFromString("dtype");
        shape = PyUnicode_InternFromString("shape");
        is_contiguous = PyUnicode_InternFromString("is_contiguous");
        is_neg = PyUnicode_InternFromString("is_neg");
        data_ptr = PyUnicode_InternFromString("data_ptr");
    }
    if (!is_of_type(result, p->type) || !is_true(PyObject_GetAttr(result, p->device_test)) ||
        !equals(PyObject_GetAttr(result, dtype), p->dtype) ||
        !equals(PyObject_GetAttr(result, shape), p->shape) ||
        !is_true(call_method(result, is_contiguous)))
        return false;
    PyObject *negative = call_method(result, is_neg);
    if (!negative || is_true(negative)) return false;
    PyObject *pointer = call_method(result, data_ptr);
    if (!pointer) return false;
    *address = PyLong_AsUnsignedLongLong(pointer);
    Py_DecRef(pointer);
    if (*address < p->first || *address >= p->end || PyErr_Occurred()) return false;
    *address += p->delta;
    return true;
}

/* Writes where the results of a batch lie. `write`(set, result) does it for an unusual result, and
 * returns what has to be kept. Returns -1 with Python's error. */
int kf_calls_record(const kf_calls_plan *plan, PyObject *order, PyObject *results, PyObject *write)
{
    ssize_t count = PyTuple_Size(order);
    for (ssize_t i = 0; i < count; i++) {
        PyObject *number = PyTuple_GetItem(order, i);
        unsigned long set = PyLong_AsUnsignedLong(number);
        PyObject *result = PyList_GetItem(results, (ssize_t)set);
        uint64_t address;
        if (!result) return -1;
        if (plan->type && set < plan->count && plan->plain[set] &&
            is_usual(plan, result, &address)) {
            memcpy(plan->directory + set * plan->stride + sizeof(kf_output_directory_head),
                   &address, sizeof address);
            continue;
        }
        PyErr_Clear(); /* Python finds the reason again. */
        PyObject *kept = PyObject_CallFunctionObjArgs(write, number, result, NULL);
        if (!kept || PyList_SetItem(results, (ssize_t)set, kept) < 0) return -1;
    }
    return 0;
}
