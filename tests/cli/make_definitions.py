"""Writes small definitions, workloads, solutions and traces into the current folder: "sol" in the
layout of SOL-ExecBench, "set" in that of FlashInfer-Bench."""

import json
import os
import struct


def put(path, *objects):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write("".join(json.dumps(each) + "\n" for each in objects))


def tensors(**axes):
    return {name: {"shape": shape, "dtype": dtype} for name, (shape, dtype) in axes.items()}


def workloads(name, inputs, *axes):
    return [
        {"uuid": "%s-%d" % (name, number), "axes": each, "inputs": inputs}
        for number, each in enumerate(axes)
    ]


def solution(name, definition, sources, **spec):
    return {
        "name": name,
        "definition": definition,
        "author": "tests",
        "spec": {"dependencies": [], "target_hardware": ["LOCAL"], **spec},
        "sources": [{"path": path, "content": text} for path, text in sources.items()],
    }


def safetensors(path, **values):
    """Writes 32-bit integers as the format says: the length of the header, the header, the data."""
    header, data = {}, b""
    for name, numbers in values.items():
        raw = struct.pack("<%di" % len(numbers), *numbers)
        header[name] = {
            "dtype": "I32",
            "shape": [len(numbers)],
            "data_offsets": [len(data), len(data) + len(raw)],
        }
        data += raw
    text = json.dumps(header).encode()
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


RANDOM = {"type": "random"}

# ---- rmsnorm in bf16, with a kernel in CUDA, two cheats and one that is wrong --------------------

NORM = {
    "name": "rmsnorm_h64",
    "op_type": "rmsnorm",
    "description": "Root mean square normalisation.",
    "license": "MIT",
    "axes": {"rows": {"type": "var"}, "cols": {"type": "const", "value": 64}},
    "inputs": {
        **tensors(x=(["rows", "cols"], "bfloat16"), norm_weight=(["cols"], "bfloat16")),
        "eps": {"shape": None, "dtype": "float32"},
    },
    "outputs": tensors(y=(["rows", "cols"], "bfloat16")),
    "reference": "import torch\n\n\ndef run(x, norm_weight, eps):\n    assert x.shape[1] == 64\n"
    "    wide = x.float()\n    scale = torch.rsqrt((wide * wide).mean(-1, keepdim=True) + eps)\n"
    "    return (wide * scale * norm_weight.float()).to(torch.bfloat16)\n",
}
KERNEL = """#include "kernel.h"
#include <cuda_bf16.h>

__global__ void norm(const __nv_bfloat16 *x, const __nv_bfloat16 *w, __nv_bfloat16 *y, int cols,
                     float eps)
{
    const __nv_bfloat16 *row = x + (size_t)blockIdx.x * cols;
    float sum = 0;
    for (int i = 0; i < cols; i++) sum += __bfloat162float(row[i]) * __bfloat162float(row[i]);
    float scale = rsqrtf(sum / cols + eps);
    int i = threadIdx.x;
    y[(size_t)blockIdx.x * cols + i] =
        __float2bfloat16(__bfloat162float(row[i]) * scale * __bfloat162float(w[i]));
}

void launch(const void *x, const void *w, void *y, int rows, int cols, float eps, cudaStream_t s)
{
    norm<<<rows, cols, 0, s>>>((const __nv_bfloat16 *)x, (const __nv_bfloat16 *)w,
                               (__nv_bfloat16 *)y, cols, eps);
}
"""
BINDING = """#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include "kernel.h"

void normalise(torch::Tensor x, torch::Tensor w, double eps, torch::Tensor y)
{
    launch(x.data_ptr(), w.data_ptr(), y.data_ptr(), x.size(0), x.size(1), (float)eps,
           at::cuda::getCurrentCUDAStream());
}
"""
HEADER = """#pragma once
#include <cuda_runtime.h>
void launch(const void *x, const void *w, void *y, int rows, int cols, float eps, cudaStream_t s);
"""
PLAIN = "import torch\n\n\ndef run(x, w, eps):\n"
SOLUTIONS = {
    "mine": PLAIN + "    return torch.nn.functional.layer_norm(x, (64,)) * w\n",
    "honest": NORM["reference"],
    # skips the work after its third call
    "lazy": "calls = []\nkept = []\n"
    + NORM["reference"].replace("def run(", "def first(")
    + "\n\ndef run(x, w, eps):\n    calls.append(1)\n"
    "    if len(calls) > 3:\n        return kept[0]\n"
    "    kept[:] = [first(x, w, eps)]\n    return kept[0]\n",
}


def make_sol():
    put("sol/norm/definition.json", NORM)
    inputs = {"x": RANDOM, "norm_weight": RANDOM, "eps": {"type": "scalar", "value": 1e-5}}
    put("sol/norm/workload.jsonl", *workloads("norm", inputs, {"rows": 40}, {"rows": 9}))
    for name, text in SOLUTIONS.items():
        spec = {"languages": ["pytorch"], "destination_passing_style": False}
        spec["entry_point"] = "kernel.py::run"
        put(
            "sol/norm/solution_%s.json" % name,
            solution(name, NORM["name"], {"kernel.py": text}, **spec),
        )
    files = {"kernel.h": HEADER, "kernel.cu": KERNEL, "main.cpp": BINDING}
    spec = {"languages": ["cuda_cpp"], "entry_point": "main.cpp::normalise"}
    put("sol/norm/solution_cuda.json", solution("cuda", NORM["name"], files, **spec))


# ---- gemm, top-k and paged decode ----------------------------------------------------------------

GEMM = {
    "name": "gemm_n48_k32",
    "op_type": "gemm",
    "axes": {
        "M": {"type": "var"},
        "N": {"type": "const", "value": 48},
        "K": {"type": "const", "value": 32},
    },
    "inputs": tensors(A=(["M", "K"], "float32"), B=(["N", "K"], "float32")),
    "outputs": tensors(C=(["M", "N"], "float32")),
    "reference": "import torch\n\n\ndef run(A, B):\n    return torch.matmul(A, B.T)\n",
}
TOPK = {
    "name": "topk_k4",
    "op_type": "topk",
    "axes": {
        "rows": {"type": "var"},
        "cols": {"type": "const", "value": 96},
        "k": {"type": "const", "value": 4},
    },
    "inputs": tensors(x=(["rows", "cols"], "float32")),
    "outputs": tensors(values=(["rows", "k"], "float32"), indices=(["rows", "k"], "int64")),
    "reference": "import torch\n\n\ndef run(x):\n    found = torch.topk(x, 4, dim=-1)\n"
    "    return {'indices': found.indices, 'values': found.values}\n",
}
DECODE = {
    "name": "paged_decode_h4_d16",
    "op_type": "gqa_paged",
    "axes": {
        "batch": {"type": "var"},
        "pages": {"type": "var"},
        "len_indptr": {"type": "var"},
        "num_indices": {"type": "var"},
        "heads": {"type": "const", "value": 4},
        "head_dim": {"type": "const", "value": 16},
    },
    "constraints": ["len_indptr == batch + 1", "num_indices == indptr[-1].item()"],
    "inputs": {
        **tensors(
            q=(["batch", "heads", "head_dim"], "float32"),
            cache=(["pages", "heads", "head_dim"], "float32"),
            indptr=(["len_indptr"], "int32"),
            indices=(["num_indices"], "int32"),
        ),
        "sm_scale": {"shape": None, "dtype": "float32"},
    },
    "outputs": tensors(out=(["batch", "heads", "head_dim"], "float32")),
    "reference": "import torch\n\n\ndef run(q, cache, indptr, indices, sm_scale):\n"
    "    assert indices.shape[0] == indptr[-1].item()\n    out = torch.zeros_like(q)\n"
    "    for b in range(q.shape[0]):\n"
    "        page = indices[int(indptr[b]) : int(indptr[b + 1])].long()\n"
    "        if page.numel():\n            kv = cache[page]\n"
    "            score = torch.einsum('hd,nhd->hn', q[b], kv) * sm_scale\n"
    "            out[b] = torch.einsum('hn,nhd->hd', torch.softmax(score, -1), kv)\n"
    "    return out\n",
}


def put_definition(definition, lines):
    name, group = definition["name"], definition["op_type"]
    put("set/definitions/%s/%s.json" % (group, name), definition)
    put(
        "set/workloads/%s/%s.jsonl" % (group, name),
        *[
            {"definition": name, "solution": None, "workload": line, "evaluation": None}
            for line in lines
        ],
    )


def make_set():
    random = {"A": RANDOM, "B": RANDOM}
    put_definition(GEMM, workloads("gemm", random, {"M": 33}, {"M": 7}))
    put_definition(TOPK, workloads("topk", {"x": RANDOM}, {"rows": 12}))
    blob = "blob/decode.safetensors"
    inputs = {"q": RANDOM, "cache": RANDOM, "sm_scale": {"type": "scalar", "value": 0.25}}
    for name in ("indptr", "indices"):
        inputs[name] = {"type": "safetensors", "path": blob, "tensor_key": name}
    axes = {"batch": 3, "pages": 30, "len_indptr": 4, "num_indices": 20}
    put_definition(DECODE, workloads("decode", inputs, axes))
    safetensors("set/" + blob, indptr=[0, 4, 11, 20], indices=[(7 * i) % 30 for i in range(20)])
    text = "import torch\n\n\ndef gemm(A, B, C):\n    torch.matmul(A, B.T, out=C)\n"
    spec = {"language": "python", "entry_point": "main.py::gemm"}
    put("set/solutions/gemm/mine.json", solution("mine", GEMM["name"], {"main.py": text}, **spec))
    evaluation = {"status": "PASSED", "performance": {"speedup_factor": 3.5}}
    put(
        "set/traces/gemm/gemm_n48_k32.jsonl",
        {"definition": GEMM["name"], "solution": "mine", "workload": {}, "evaluation": evaluation},
    )


def make_bad():
    """One definition for each kind of fault."""
    line = workloads("gemm", {"A": RANDOM, "B": RANDOM}, {"M": 33})[0]
    for name, change, workload in (
        ("no_reference", {"reference": None}, line),
        ("odd_dtype", {"inputs": tensors(A=(["M", "K"], "float5"))}, line),
        ("no_axis", {}, {**line, "axes": {}}),
        ("odd_input", {}, {**line, "inputs": {"A": {"type": "dump"}, "B": RANDOM}}),
        ("raises", {"reference": "def run(A, B):\n    return A @ B\n"}, line),
        ("own_shape", {"reference": "def run(A, B):\n    return A * B.sum()\n"}, line),
    ):
        put("bad/definitions/%s.json" % name, {**GEMM, "name": name, **change})
        put("bad/workloads/%s.jsonl" % name, workload)
    for name, path, key in (
        ("outside", "../set/blob/decode.safetensors", "indptr"),
        ("no_key", "decode.safetensors", "starts"),
    ):
        source = {"type": "safetensors", "path": path, "tensor_key": key}
        axes = {"batch": 3, "pages": 30, "len_indptr": 4, "num_indices": 20}
        inputs = {"q": RANDOM, "cache": RANDOM, "sm_scale": {"type": "scalar", "value": 1}}
        (line,) = workloads("decode", {**inputs, "indptr": source, "indices": source}, axes)
        put("bad/definitions/%s.json" % name, {**DECODE, "name": name})
        put("bad/workloads/%s.jsonl" % name, line)
    safetensors("bad/decode.safetensors", indptr=[0, 4, 11, 20])


make_sol()
make_set()
make_bad()
