"""Tests evaluator/torch/formats/flashinfer*.py: definitions, workloads, solutions and traces of
FlashInfer-Bench and SOL-ExecBench become problem files and ModelNew."""

import argparse
import copy
import json
import os
import sys
import tempfile
import types
import unittest
from unittest import mock

import describe
import full_numbers
import load
import torch
from formats import flashinfer, flashinfer_axes, flashinfer_inputs, flashinfer_task

SCALE = {
    "name": "scale_rows",
    "op_type": "elementwise",
    "description": "Scales rows.",
    "axes": {
        "rows": {"type": "var"},
        "cols": {"type": "const", "value": 6},
        "half": {"type": "expr", "expression": "cols // 2"},
    },
    "inputs": {
        "x": {"shape": ["rows", "cols"], "dtype": "float32"},
        "shift": {"shape": [], "dtype": "float32"},
        "factor": {"shape": None, "dtype": "float32"},
    },
    "outputs": {
        "low": {"shape": ["rows", "half"], "dtype": "float32"},
        "high": {"shape": ["rows", "half"], "dtype": "float32"},
    },
    "reference": "import torch\n\ndef run(x, shift, factor):\n    assert shift.dim() == 0\n"
    "    y = x * factor + shift\n    half = x.shape[1] // 2\n"
    "    return {'high': y[:, half:].contiguous(), 'low': y[:, :half].contiguous()}\n",
}
PAGED = {
    "name": "paged_sum",
    "axes": {
        "batch": {"type": "var"},
        "pages": {"type": "var"},
        "indptr": {"type": "var"},
        "used": {"type": "var"},
        "width": {"type": "const", "value": 4},
    },
    "constraints": ["indptr == batch + 1", "used == indptr_data[-1].item()"],
    "inputs": {
        "cache": {"shape": ["pages", "width"], "dtype": "float32"},
        "starts": {"shape": ["indptr"], "dtype": "int32"},
        "table": {"shape": ["used"], "dtype": "int32"},
    },
    "outputs": {"sums": {"shape": ["batch", "width"], "dtype": "float32"}},
    "reference": "import torch\n\ndef run(cache, starts, table):\n"
    "    assert table.shape[0] == starts[-1].item()\n"
    "    rows = [cache[table[int(a):int(b)].long()].sum(0) for a, b in zip(starts, starts[1:])]\n"
    "    return torch.stack(rows)\n",
}


def scale_line(rows, factor=2.0, **more):
    return {
        "uuid": "rows-%d" % rows,
        "axes": {"rows": rows},
        "inputs": {
            "x": {"type": "random"},
            "shift": {"type": "random"},
            "factor": {"type": "scalar", "value": factor},
        },
        **more,
    }


def paged_line(batch, pages, used, path="blob/%d.safetensors"):
    source = {"type": "safetensors", "path": path % batch if "%" in path else path}
    return {
        "uuid": "batch-%d" % batch,
        "axes": {"batch": batch, "pages": pages, "indptr": batch + 1, "used": used},
        "inputs": {
            "cache": {"type": "random"},
            "starts": {**source, "tensor_key": "starts"},
            "table": {**source, "tensor_key": "table"},
        },
    }


class FakeSafetensors:
    """Stands in for the package: files of torch.save. Remembers what was opened."""

    def __enter__(self):
        module = types.ModuleType("safetensors")
        module.safe_open = self.Opened
        self.old = sys.modules.get("safetensors")
        sys.modules["safetensors"] = module

    def __exit__(self, *_):
        if self.old is None:
            del sys.modules["safetensors"]
        else:
            sys.modules["safetensors"] = self.old

    class Opened:
        def __init__(self, path, framework):
            with open(path, "rb") as file:  # by its name PyTorch 2.15 takes it for safetensors
                self.tensors = torch.load(file)

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

        def keys(self):
            return self.tensors.keys()

        def get_tensor(self, key):
            return self.tensors[key]


class Folder(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.top = self.folder.name
        self.addCleanup(self.folder.cleanup)

    def put(self, relative, *objects):
        path = os.path.join(self.top, relative)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(o if isinstance(o, str) else json.dumps(o) for o in objects))

    def trace_set(self, definition, *lines):
        name = definition["name"] if isinstance(definition.get("name"), str) else "nameless"
        self.put("definitions/group/%s.json" % name, definition)
        self.put("workloads/group/%s.jsonl" % name, *lines)

    def translate(self, path=""):
        return flashinfer.translate(os.path.join(self.top, path), "flashinfer-bench")

    def problem(self):
        (problem,) = self.translate()["problems"]
        self.assertNotIn("fault", problem)
        return load.Problem(problem["text"], "problem.py")

    def fault(self):
        (problem,) = self.translate()["problems"]
        self.assertIn("fault", problem, "nothing was wrong")
        return "%s: %s" % (problem["fault"]["rule"], problem["fault"]["reason"])

    def described(self, most=0):
        (problem,) = self.translate()["problems"]
        path = os.path.join(self.top, "problem.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(problem["text"])
        options = argparse.Namespace(
            class_name="Model", mode="train", max_elements=most, seconds=60.0
        )
        return describe.run(path, {}, options)


class Definitions(Folder):
    def test_a_definition_is_a_module(self):
        self.trace_set(SCALE, scale_line(3), scale_line(5))
        problem = self.problem()
        x, shift, factor, rows = problem.inputs(1)
        self.assertEqual((x.shape, shift.shape, factor, rows), ((3, 6), (), 2.0, 3))
        low, high = problem.construct()(x, shift.reshape(1), factor, rows)
        self.assertTrue(torch.equal(low, x[:, :3] * 2 + shift))
        self.assertTrue(torch.equal(high, x[:, 3:] * 2 + shift))

    def test_its_workloads_are_those_of_the_task(self):
        self.trace_set(SCALE, scale_line(3), scale_line(5))
        d = self.described()
        self.assertIsNone(d["unfit"], d["unfit"])
        self.assertEqual(d["params"], {"rows": 3, "cols": 6, "half": "cols / 2"})
        self.assertEqual(d["patches"], {"axis_rows": "rows", "axis_cols": "cols"})
        rows = [(w["name"], {**d["params"], **w["params"]}["rows"]) for w in d["workloads"]]
        self.assertEqual(rows, [("rows-3", 3), ("rows-5", 5)])
        self.assertEqual([a["extents"] for a in d["inputs"]], [["rows", "cols"], [1]])
        self.assertEqual(
            [(o["name"], o["extents"]) for o in d["outputs"]],
            [("low", ["rows", "half"]), ("high", ["rows", "half"])],
        )
        self.assertEqual(
            [(s["name"], s["value"]) for s in d["scalars"]], [("factor", 2.0), ("rows", "rows")]
        )
        self.assertEqual(d["inputs"][0]["distribution"], {"kind": "normal"})

    def test_a_number_may_differ_between_workloads(self):
        self.trace_set(SCALE, scale_line(3, 0.5), scale_line(5, 0.25), scale_line(7, 0.25))
        problem = self.problem()
        task = flashinfer_task.declared(problem)
        self.assertEqual(task["scalars"]["factor"], "number <= 0 ? 0.5 : 0.25")
        patches = flashinfer_task.patches_of(task, task["workloads"][1])
        other = load.Problem(problem.text, "problem.py", patches)
        self.assertEqual([v for v in other.inputs(1) if isinstance(v, float)], [0.25])

    def test_sizes_are_halved_for_each_workload(self):
        self.trace_set(SCALE, scale_line(64), scale_line(4000))
        d = self.described(most=200)
        self.assertIsNone(d["unfit"], d["unfit"])
        usual = d["params"]
        for workload in d["workloads"]:
            own = {**usual, **workload.get("params", {})}
            self.assertLessEqual(2 * own["rows"] * own["cols"] + 1, 200)

    def test_the_other_layout_and_a_single_file(self):
        self.put("problems/scale/definition.json", SCALE)
        self.put("problems/scale/workload.jsonl", scale_line(3))
        self.assertEqual([p["name"] for p in self.translate()["problems"]], ["scale_rows"])
        self.trace_set({**SCALE, "name": "other"}, scale_line(3))
        self.assertEqual(len(self.translate()["problems"]), 2)
        only = self.translate("definitions/group/other.json")["problems"]
        self.assertEqual([p["name"] for p in only], ["other"])

    def test_equal_definitions_are_one_task(self):
        for place in ("a", "b"):
            self.put(place + "/definition.json", SCALE)
            self.put(place + "/workload.jsonl", scale_line(3))
        self.assertEqual(len(self.translate()["problems"]), 1)

    def test_over_64_workloads_are_several_tasks(self):
        self.trace_set(SCALE, *[scale_line(n) for n in range(1, 100)])
        self.assertEqual(len(self.translate()["problems"]), 2)

    def test_evaluated_traces_are_no_workloads(self):
        trace = {"definition": "scale_rows", "solution": "s", "workload": scale_line(9)}
        self.trace_set(
            SCALE,
            {**trace, "solution": None, "evaluation": None},
            {**trace, "evaluation": {"status": "PASSED"}},
        )
        task = flashinfer_task.declared(self.problem())
        self.assertEqual([w["name"] for w in task["workloads"]], ["rows-9"])

    def test_an_empty_workload_is_left_out(self):
        self.trace_set(SCALE, scale_line(3), scale_line(0))
        answer = self.translate()
        self.assertIn('axis "rows" is 0', answer["notes"][0])
        task = flashinfer_task.declared(self.problem())
        self.assertEqual([w["name"] for w in task["workloads"]], ["rows-3"])

    def test_the_licence_travels(self):
        self.trace_set({**SCALE, "license": "BSD-3-Clause"}, scale_line(3))
        self.assertEqual(self.described()["license"], "BSD-3-Clause")

    def test_each_dtype_is_drawn(self):
        for dtype in flashinfer.DTYPES:
            if not hasattr(torch, dtype):
                continue
            spec = {"shape": ["n"], "dtype": dtype}
            made = flashinfer_inputs.random("x", spec, "(axis_n,)")
            value = eval(made.code, {"torch": torch, "axis_n": 500})
            self.assertEqual((value.dtype, tuple(value.shape)), (getattr(torch, dtype), (500,)))

    def test_names_say_what_is_meant(self):
        for name, check in (
            ("input_layernorm_weight", lambda v: 0.5 <= v.min() and v.max() <= 1.5),
            ("rstd", lambda v: v.min() > 0),
            ("A_log", lambda v: v.max() < 0),
            ("x_mask", lambda v: set(v.tolist()) == {0.0, 1.0}),
            ("x", lambda v: v.min() < -1 and v.max() > 1),
        ):
            made = flashinfer_inputs.random(name, {"shape": ["n"], "dtype": "float32"}, "(axis_n,)")
            value = eval(made.code, {"torch": torch, "axis_n": 500})
            self.assertTrue(check(value), name)

    def test_the_definition_draws_its_own_inputs(self):
        own = copy.deepcopy(SCALE)
        own["custom_inputs_entrypoint"] = "draw"
        own["reference"] += (
            "\ndef draw(axes_and_scalars, device):\n"
            "    n = axes_and_scalars['rows'], axes_and_scalars['cols']\n"
            "    return {'x': torch.rand(n, device=device) * axes_and_scalars['factor']}\n"
        )
        line = scale_line(300, 7.0)
        line["inputs"]["x"] = {"type": "custom"}
        self.trace_set(own, line)
        x = self.problem().inputs(1)[0]
        self.assertTrue(x.shape == (300, 6) and 6 < x.max() <= 7)

    def test_drawn_numbers_follow_each_workload(self):
        own = copy.deepcopy(SCALE)
        own["custom_inputs_entrypoint"] = "draw"
        own["inputs"] = {
            "x": {"shape": ["rows", "cols"], "dtype": "float32"},
            "index": {"shape": ["rows"], "dtype": "int32"},
        }
        own["outputs"] = {"y": {"shape": ["rows", "cols"], "dtype": "float32"}}
        own["reference"] = (
            "import torch\n\ndef run(x, index):\n    return x.index_select(0, index.long())\n"
            "\ndef draw(axes_and_scalars, device):\n    n = axes_and_scalars['rows']\n"
            "    return {'index': torch.randint(0, n, (n,), device=device).int()}\n"
        )
        lines = [scale_line(rows) for rows in (400, 50, 600)]
        for line in lines:
            line["inputs"] = {"x": {"type": "random"}, "index": {"type": "custom"}}
        self.trace_set(own, *lines)
        made = self.described()
        (index,) = [a["distribution"] for a in made["inputs"] if a["name"] == "index"]
        rows = [w.get("distributions", {}).get("index", index) for w in made["workloads"]]
        for row, most in zip(rows, (400, 50, 600)):
            self.assertEqual((row["kind"], row["low"] < 20), ("integers", True))
            self.assertTrue(0.8 * most < row["high"] <= most)
        self.assertNotIn("distributions", made["workloads"][0])

    def test_unknown_numbers_follow_the_extents(self):
        own = copy.deepcopy(SCALE)
        own["custom_inputs_entrypoint"] = "draw"
        own["axes"] = {"rows": {"type": "var"}, "cols": {"type": "var"}}
        own["inputs"] = {
            "x": {"shape": ["rows", "cols"], "dtype": "float32"},
            "index": {"shape": ["cols"], "dtype": "int32"},
        }
        own["outputs"] = {"y": {"shape": ["cols", "cols"], "dtype": "float32"}}
        own["reference"] = (
            "import torch\n\ndef run(x, index):\n    return x.index_select(0, index.long())\n"
            "\ndef draw(axes_and_scalars, device):\n    n = axes_and_scalars['rows'] - 10\n"
            "    m = axes_and_scalars['cols']\n"
            "    return {'index': torch.randint(0, n, (m,), device=device).int()}\n"
        )
        lines = [scale_line(rows) for rows in (400, 50, 600)]
        for line in lines:
            line["axes"]["cols"] = 300
            line["inputs"] = {"x": {"type": "random"}, "index": {"type": "custom"}}
        self.trace_set(own, *lines)
        with mock.patch.object(full_numbers, "MOST_ELEMENTS", 0):
            made = self.described()
        (index,) = [a["distribution"] for a in made["inputs"] if a["name"] == "index"]
        self.assertTrue(300 < index["high"] <= 390, index)
        rows = [w.get("distributions", {}).get("index", index) for w in made["workloads"]]
        self.assertEqual([row["high"] for row in rows], [index["high"], 50, index["high"]])
        # Numbers that exceed all extents: a smaller size could lack their elements.
        own["reference"] = own["reference"].replace("x.index", "x.repeat(9, 1).index")
        own["reference"] = own["reference"].replace("['rows'] - 10", "['rows'] * 9 - 10")
        self.trace_set(own, *lines)
        with mock.patch.object(full_numbers, "MOST_ELEMENTS", 0):
            made = self.described()
        self.assertEqual([w["name"] for w in made["workloads"]], ["rows-400", "rows-600"])
        self.assertTrue(any("left out: rows-50 " in note for note in made["notes"]))


class Safetensors(Folder):
    def put_tensors(self, batch, starts, table):
        path = os.path.join(self.top, "blob/%d.safetensors" % batch)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        torch.save({"starts": starts, "table": table}, path)

    def put_paged(self):
        self.put_tensors(2, torch.tensor([0, 3, 9]).int(), torch.tensor(range(9)).int() * 2)
        self.put_tensors(3, torch.tensor([0, 1, 2, 8]).int(), torch.tensor(range(8)).int() * 3)
        self.trace_set(PAGED, paged_line(2, 40, 9), paged_line(3, 60, 8))

    def test_data_are_drawn_anew_within_their_bounds(self):
        self.put_paged()
        with FakeSafetensors():
            problem = self.problem()
            d = self.described()
        self.assertIsNone(d["unfit"], d["unfit"])
        cache, starts, table = problem.inputs(1)[:3]
        self.assertEqual((int(starts[0]), int(starts[-1]), starts.dtype), (0, 9, torch.int32))
        self.assertLess(int(table.max()), 17)
        kinds = {a["name"]: a["distribution"] for a in d["inputs"]}
        self.assertEqual(kinds["starts"]["kind"], "offsets")
        self.assertEqual(kinds["starts"]["total"], "used")
        self.assertEqual(kinds["table"]["high"], "table_high")
        self.assertEqual(d["params"]["indptr"], "batch + 1")
        second = {**d["params"], **d["workloads"][1]["params"]}
        values = flashinfer_task.resolve(second)
        self.assertEqual((values["indptr"], values["table_high"], values["used"]), (4, 22, 8))

    def test_a_smaller_cache_has_smaller_page_numbers(self):
        self.put_tensors(2, torch.tensor([0, 3, 9]).int(), torch.tensor(range(9)).int() * 100)
        self.trace_set(PAGED, paged_line(2, 1000, 9))
        with FakeSafetensors():
            d = self.described(most=500)
        self.assertIsNone(d["unfit"], d["unfit"])
        values = flashinfer_task.resolve({**d["params"], **d["workloads"][0].get("params", {})})
        self.assertLess(values["pages"], 200)
        self.assertLessEqual(values["table_high"], values["pages"])

    def test_faults_of_files(self):
        self.put_paged()
        for change, expected in (
            (lambda s: s.pop("tensor_key"), "expected path and tensor_key"),
            (lambda s: s.update(tensor_key="ends"), 'has no tensor "ends"; it has starts, table'),
            (lambda s: s.update(path="../2.safetensors"), "is outside of the folder"),
            (lambda s: s.update(path="/etc/passwd"), "is outside of the folder"),
            (lambda s: s.update(path="blob/link"), "is outside of the folder"),
            (lambda s: s.update(path="blob/9.safetensors"), "is missing below the folder"),
            (lambda s: s.update(tensor_key="table"), "is int32[9] in the file"),
        ):
            if not os.path.islink(os.path.join(self.top, "blob/link")):
                os.symlink("/etc/passwd", os.path.join(self.top, "blob/link"))
            line = paged_line(2, 40, 9)
            change(line["inputs"]["starts"])
            self.trace_set(PAGED, line)
            with FakeSafetensors():
                self.assertIn(expected, self.fault())

    def test_a_missing_package_is_named(self):
        self.put_paged()
        old, sys.modules["safetensors"] = sys.modules.get("safetensors"), None
        try:
            self.assertIn("python3 -m pip install safetensors", self.fault())
        finally:
            del sys.modules["safetensors"]
            if old:
                sys.modules["safetensors"] = old


class Faults(Folder):
    def changed(self, change, line=None):
        definition = copy.deepcopy(SCALE)
        change(definition)
        self.trace_set(definition, line or scale_line(3))
        return self.fault()

    def test_definitions(self):
        for change, expected in (
            (lambda d: d.pop("reference"), 'reference: "reference" is missing'),
            (lambda d: d.update(reference="x = ("), "reference: reference:1: SyntaxError"),
            (lambda d: d.update(reference="x = 1"), "does not define run()"),
            (lambda d: d["inputs"]["x"].update(dtype="float5"), 'the unknown dtype "float5"'),
            (lambda d: d["inputs"]["x"].update(dtype="float4_e2m1"), "the unknown dtype"),
            (lambda d: d["inputs"]["x"].update(shape=["depth"]), 'its shape has "depth"'),
            (lambda d: d["inputs"]["x"].update(shape=7), "neither a list of axes nor null"),
            (lambda d: d.pop("axes"), '"axes" is missing'),
            (lambda d: d["axes"]["cols"].pop("value"), 'axis "cols": expected type const'),
            (lambda d: d["axes"]["half"].update(expression="deep / 2"), 'no axis "deep"'),
            (lambda d: d["axes"]["half"].update(expression="open('x')"), "an operation that axes"),
            (lambda d: d["axes"]["half"].update(expression="cols / 4"), "not a whole number"),
            (lambda d: d.pop("outputs"), '"outputs" is missing'),
            (lambda d: d["outputs"].update(x=d["inputs"]["x"]), "is an input and an output"),
            (lambda d: d.update(custom_inputs_entrypoint="gen"), "does not define gen()"),
            (lambda d: d.update(constraints=["rows > 3"]), "the constraint rows > 3 does not hold"),
        ):
            self.assertIn(expected, self.changed(change))

    def test_workloads(self):
        for change, expected in (
            (lambda w: w["axes"].pop("rows"), ':1: axis "rows" has no value'),
            (lambda w: w["axes"].update(rows=0), 'axis "rows" is 0, and an empty tensor'),
            (lambda w: w["axes"].update(rows=-1), 'axis "rows" is -1; expected a whole number'),
            (lambda w: w["axes"].update(rows="3"), 'axis "rows" is "3"'),
            (lambda w: w["inputs"]["x"].update(type="dump"), 'the unknown kind "dump"'),
            (lambda w: w["inputs"]["factor"].pop("value"), '"value" is null'),
            (lambda w: w["inputs"].pop("factor"), "a number without a value"),
            (lambda w: w["inputs"]["x"].update(type="custom"), "no custom_inputs_entrypoint"),
            (lambda w: w.pop("inputs"), '"inputs" is missing'),
        ):
            line = scale_line(3)
            change(line)
            self.assertIn(expected, self.changed(lambda d: None, line))
        self.assertIn("no JSON", self.changed(lambda d: None, "{"))
        self.put("definitions/group/scale_rows.json", SCALE)
        os.remove(os.path.join(self.top, "workloads/group/scale_rows.jsonl"))
        self.assertIn("no workloads: expected workload.jsonl", self.fault())

    def test_a_folder_without_definitions(self):
        self.put("readme.json", {})
        with self.assertRaises(load.LoadError) as raised:
            self.translate()
        self.assertIn("expected definitions/NAME.json", str(raised.exception))

    def test_a_reference_with_other_outputs(self):
        for change, expected in (
            ("return y", "run returns 1 tensors; 2 outputs are declared"),
            ("return y, y", "run returns float32[3, 6] as low; float32[3, 3] is declared"),
            ("return y[:, :3].half(), y[:, 3:]", "run returns float16[3, 3] as low"),
        ):
            definition = copy.deepcopy(SCALE)
            body = definition["reference"]
            definition["reference"] = body[: body.index("return")] + change + "\n"
            self.trace_set(definition, scale_line(3))
            unfit = self.described()["unfit"]
            self.assertEqual(unfit["rule"], "reference.outputs")
            self.assertIn(expected, unfit["reason"])


class Solutions(Folder):
    def solution(self, sources, **spec):
        given = {
            "name": "mine",
            "definition": "scale_rows",
            "author": "me",
            "spec": {
                "language": "python",
                "entry_point": "main.py::run",
                "destination_passing_style": False,
                **spec,
            },
            "sources": [{"path": path, "content": text} for path, text in sources.items()],
        }
        self.trace_set(SCALE, scale_line(3))
        self.put("solutions/group/mine.json", given)
        return self.translate()

    def outputs(self, answer):
        (solution,) = answer["solutions"]
        self.assertEqual(answer["problems"][solution["problem"]]["name"], "scale_rows")
        problem = self.problem()
        made = load.Problem(solution["text"], "mine.py", None, "ModelNew", "kforge_candidate")
        inputs = problem.inputs(1)
        return made.construct(([], {}))(*inputs), problem.construct()(*inputs)

    def agree(self, answer):
        for got, expected in zip(*self.outputs(answer)):
            self.assertTrue(torch.allclose(got, expected))

    VALUE = (
        "def run(x, shift, factor):\n    y = x * factor + shift\n    return y[:, :3], y[:, 3:]\n"
    )
    INTO = (
        "def run(x, shift, factor, low, high):\n    y = x * factor + shift\n    low[:] = y[:, :3]\n"
    )
    INTO += "    high[:] = y[:, 3:]\n"

    def test_both_styles(self):
        self.agree(self.solution({"main.py": self.VALUE}))
        self.agree(self.solution({"main.py": self.INTO}, destination_passing_style=True))
        answer = self.solution({"main.py": self.VALUE}, languages=["pytorch"], language=None)
        self.agree(answer)

    def test_several_files(self):
        self.agree(
            self.solution(
                {
                    "main.py": "from parts.scale import apply\nimport helper\n"
                    "def run(x, shift, factor):\n"
                    "    return helper.split(apply(x, shift, factor))\n",
                    "parts/__init__.py": "",
                    "parts/scale.py": "def apply(x, shift, factor):\n"
                    "    return x * factor + shift\n",
                    "helper.py": "def split(y):\n    return y[:, :3], y[:, 3:]\n",
                }
            )
        )

    def test_compiled_sources_call_the_extension(self):
        answer = self.solution(
            {
                "kernel.h": "torch::Tensor scale(torch::Tensor x);",
                "kernel.cu": '#include "kernel.h"',
                "main.cpp": '#include "kernel.h"\ntorch::Tensor run(torch::Tensor x) { return x; }',
            },
            language="cuda",
            binding="torch",
            entry_point="main.cpp::run",
        )
        text = answer["solutions"][0]["text"]
        compile(text, "mine.py", "exec")
        self.assertIn("['kernel.cu', 'main.cpp']", text)
        self.assertIn('m.def(\\"run\\", &run)' if '\\"' in text else 'm.def("run", &run)', text)

    def test_faults(self):
        for sources, spec, expected in (
            ({"../main.py": ""}, {}, "the path ../main.py leads out of the solution"),
            ({"/main.py": ""}, {}, "leads out of the solution"),
            ({}, {}, "expected 1 to 256 sources"),
            ({"main.py": ""}, {"entry_point": "run"}, "entry_point is no FILE::FUNCTION"),
            ({"main.py": ""}, {"entry_point": "other.py::run"}, "other.py is not in sources"),
            ({"main.py": ""}, {"language": "fortran"}, 'the language "fortran" is unknown'),
            (
                {"main.cu": ""},
                {"language": "cuda", "entry_point": "main.cu::run"},
                "its binding is tvm-ffi",
            ),
        ):
            answer = self.solution(sources, **spec)
            self.assertEqual(answer["solutions"], [])
            self.assertIn(expected, " ".join(answer["notes"]))

    def test_a_solution_without_definition_is_named(self):
        self.solution({"main.py": self.VALUE})
        self.put("solutions/x.json", {"name": "x", "definition": "unknown", "sources": []})
        answer = self.translate()
        self.assertEqual(len(answer["solutions"]), 1)
        self.assertIn('there is no definition "unknown"', answer["notes"][0])

    def test_traces_say_what_was_claimed(self):
        self.solution({"main.py": self.VALUE})
        rows = [
            {
                "definition": "scale_rows",
                "solution": "mine",
                "workload": scale_line(3),
                "evaluation": {"status": "PASSED", "performance": {"speedup_factor": factor}},
            }
            for factor in (2.0, 8.0)
        ]
        rows.append({**rows[0], "evaluation": {"status": "TIMEOUT", "performance": None}})
        self.put("traces/scale_rows.jsonl", *rows)
        self.assertAlmostEqual(self.translate()["solutions"][0]["claimed"], 4.0)


class Axes(unittest.TestCase):
    def test_expressions(self):
        values = {"a": 7, "b": 2}
        for text, expected in (("a // b", 3), ("a % b + 1", 2), ("-(b - a) * 2", 10), ("b**3", 8)):
            self.assertEqual(flashinfer_axes.extent(text, values), expected)
        names = {"a": "a", "b": "axis_b"}
        self.assertEqual(flashinfer_axes.write("a // b + 1", names), "(a / axis_b) + 1")
        self.assertIsNone(flashinfer_axes.write("a ** b", names))
        for text in ("a // 0", "b ** 1000", "__import__('os')", "a.b", "[a]"):
            with self.assertRaises(flashinfer_axes.Unknown):
                flashinfer_axes.extent(text, values)

    def test_derived_axes(self):
        found = flashinfer_axes.derived(
            ["n == m + 1", "m == n - 1", "k == data[-1].item()", "m == n"], {"n", "m", "k"}, "nmk"
        )
        self.assertEqual(found, {"n": "m + 1"})


if __name__ == "__main__":
    unittest.main()
