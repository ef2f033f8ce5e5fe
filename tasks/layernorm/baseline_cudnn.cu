/* Layer normalisation of rows by cuDNN. It has that only as an operation of its graphs: a row is an image, its elements are channels, and what is
 * planned for a shape once is executed in each call. All in f32. */
#include <cuda_runtime.h>
#include <cudnn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { X, GAMMA, BETA, EPSILON, Y, TENSORS };

static void check(cudnnStatus_t status)
{
    if (status == CUDNN_STATUS_SUCCESS) return;
    char words[512] = "";
    cudnnGetLastErrorString(words, sizeof words);
    fprintf(stderr, "cuDNN: %s: %s\n", cudnnGetErrorString(status), words);
    exit(1);
}

static cudnnBackendDescriptor_t make(cudnnBackendDescriptorType_t type)
{
    cudnnBackendDescriptor_t made;
    check(cudnnBackendCreateDescriptor(type, &made));
    return made;
}

static void set(cudnnBackendDescriptor_t to, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count,
                const void *values)
{
    check(cudnnBackendSetAttribute(to, name, type, count, values));
}

/* rows x channels; epsilon is one number on the host. */
static cudnnBackendDescriptor_t make_tensor(int64_t id, int64_t rows, int64_t channels)
{
    cudnnBackendDescriptor_t made = make(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    const cudnnDataType_t type = CUDNN_DATA_FLOAT;
    const int64_t shape[] = {rows, channels, 1, 1}, strides[] = {channels, 1, channels, channels};
    const int64_t alignment = id == EPSILON ? 4 : 16;
    const bool by_value = true;
    set(made, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type);
    set(made, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, shape);
    set(made, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4, strides);
    set(made, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &id);
    set(made, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, &alignment);
    if (id == EPSILON) set(made, CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, 1, &by_value);
    check(cudnnBackendFinalize(made));
    return made;
}

/* The first plan that cuDNN's heuristics propose and this GPU can execute. */
static cudnnBackendDescriptor_t make_plan(cudnnHandle_t handle, int64_t rows, int64_t cols)
{
    static const cudnnBackendAttributeName_t names[TENSORS] = {
        CUDNN_ATTR_OPERATION_NORM_FWD_XDESC, CUDNN_ATTR_OPERATION_NORM_FWD_SCALE_DESC, CUDNN_ATTR_OPERATION_NORM_FWD_BIAS_DESC,
        CUDNN_ATTR_OPERATION_NORM_FWD_EPSILON_DESC, CUDNN_ATTR_OPERATION_NORM_FWD_YDESC};
    const cudnnBackendNormMode_t mode = CUDNN_LAYER_NORM;
    const cudnnBackendNormFwdPhase_t phase = CUDNN_NORM_FWD_INFERENCE;
    cudnnBackendDescriptor_t operation = make(CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR);
    set(operation, CUDNN_ATTR_OPERATION_NORM_FWD_MODE, CUDNN_TYPE_NORM_MODE, 1, &mode);
    set(operation, CUDNN_ATTR_OPERATION_NORM_FWD_PHASE, CUDNN_TYPE_NORM_FWD_PHASE, 1, &phase);
    for (int i = 0; i < TENSORS; i++) {
        cudnnBackendDescriptor_t tensor = make_tensor(i, i == X || i == Y ? rows : 1, i == EPSILON ? 1 : cols);
        set(operation, names[i], CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &tensor);
    }
    check(cudnnBackendFinalize(operation));

    cudnnBackendDescriptor_t graph = make(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    set(graph, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle);
    set(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &operation);
    check(cudnnBackendFinalize(graph));

    const cudnnBackendHeurMode_t heuristic = CUDNN_HEUR_MODE_A;
    cudnnBackendDescriptor_t heuristics = make(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    set(heuristics, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &graph);
    set(heuristics, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &heuristic);
    check(cudnnBackendFinalize(heuristics));

    enum { MOST = 8 };
    cudnnBackendDescriptor_t found[MOST];
    int64_t count = 0;
    for (int i = 0; i < MOST; i++) found[i] = make(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    check(cudnnBackendGetAttribute(heuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, MOST, &count, found));
    for (int64_t i = 0; i < count && i < MOST; i++) {
        cudnnBackendDescriptor_t plan = make(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
        set(plan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle);
        set(plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &found[i]);
        if (cudnnBackendFinalize(plan) == CUDNN_STATUS_SUCCESS) return plan;
        cudnnBackendDestroyDescriptor(plan);
    }
    fprintf(stderr, "cuDNN: no engine normalises layers of %lld x %lld floats here\n", (long long)rows, (long long)cols);
    exit(1);
}

extern "C" void layernorm(const float *x, const float *gamma, const float *beta, float *y, float epsilon, int64_t rows,
                          int64_t cols, cudaStream_t stream)
{
    static cudnnHandle_t handle;
    static cudnnBackendDescriptor_t plan;
    static int64_t planned_rows, planned_cols;
    static void *workspace;
    if (!handle) check(cudnnCreate(&handle));
    if (planned_rows != rows || planned_cols != cols) {
        int64_t bytes = 0, count;
        plan = make_plan(handle, rows, cols);
        check(cudnnBackendGetAttribute(plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &count, &bytes));
        if (workspace) cudaFree(workspace);
        workspace = NULL;
        if (bytes > 0 && cudaMalloc(&workspace, (size_t)bytes) != cudaSuccess) exit(1);
        planned_rows = rows;
        planned_cols = cols;
    }
    const int64_t ids[TENSORS] = {X, GAMMA, BETA, EPSILON, Y};
    const void *pointers[TENSORS] = {x, gamma, beta, &epsilon, y};
    cudnnBackendDescriptor_t pack = make(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    set(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, TENSORS, ids);
    set(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, TENSORS, pointers);
    set(pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace);
    check(cudnnBackendFinalize(pack));
    check(cudnnSetStream(handle, stream));
    check(cudnnBackendExecute(handle, plan, pack));
    check(cudnnBackendDestroyDescriptor(pack));
}
