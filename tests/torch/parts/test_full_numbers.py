"""Tests the numbers of inputs at the size of the task, which is measured at a smaller one."""

import tempfile
import types
import unittest
from unittest import mock

import describe
import full_numbers
import torch

CLASSES = """
import torch
rows, classes = 2048, 4096
class Model(torch.nn.Module):
    def forward(self, x, targets):
        return x.gather(1, targets.long().view(-1, 1))
def get_inputs():
    return [torch.rand(rows, classes), %s]
"""
# Pages of a table, which a permutation names, and rows with lengths.
PAGES = """
import torch
rows, length, width = 4, 32, 256
class Model(torch.nn.Module):
    def forward(self, pages, table, lengths):
        return torch.stack([
            pages.index_select(0, table[row, : int(lengths[row])].long()).sum(0)
            for row in range(len(lengths))
        ])
def get_inputs():
    count = rows * length + 8
    table = torch.randperm(count)[: rows * length].reshape(rows, length).int()
    lengths = torch.full((rows,), length, dtype=torch.int32)
    return [torch.randn(count, width), table, lengths]
KFORGE_WORKLOADS = [
    {"name": "small", "patches": {"rows": 64, "length": 512}},
    {"name": "large", "patches": {"rows": 64, "length": 1024}},
]
"""
# Offsets of groups of rows. Each group has its own factor.
GROUPS = """
import torch
rows, groups, width = 8192, 64, 1024
class Model(torch.nn.Module):
    def forward(self, x, ends):
        return x * torch.bucketize(torch.arange(len(x)), ends.long(), right=True).view(-1, 1)
def get_inputs():
    ends = torch.randint(0, rows + 1, (groups + 1,)).sort()[0]
    ends[0], ends[-1] = 0, rows
    return [torch.randn(rows, width), ends]
"""
# Indices as floating-point numbers, so that shapes at other sizes need no values.
FLOATS = """
import torch
rows, count, width = 2048, 40000, 256
class Model(torch.nn.Module):
    def forward(self, table, index):
        return table.index_select(0, index.long())
def get_inputs():
    return [torch.randn(count, width), torch.randint(0, count, (rows,), dtype=torch.float32)]
"""


def described(text, **patched):
    """Returns (distributions by input, the description) of a problem file."""
    options = types.SimpleNamespace(
        class_name="Model", mode="train", max_elements=0, seconds=120.0, generated=None
    )
    with tempfile.TemporaryDirectory() as folder:
        path = folder + "/own.py"
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        with mock.patch.multiple(full_numbers, SHARE=0.5, **patched):
            made = describe.describe(path, {}, options)
    return {a["name"]: a["distribution"] for a in made["inputs"]}, made


def bounds(spec):
    return spec["kind"], spec["low"], spec["high"]


class Problem(unittest.TestCase):
    def smaller(self, made):
        self.assertTrue(any(note.startswith("measured at ") for note in made["notes"]))

    def kept(self, made):
        return [note for note in made["notes"] if "bounds as measured" in note]

    def test_direct_draw_needs_no_storage(self):
        text = CLASSES % "torch.randint(0, classes, (rows,))"
        for most in (1 << 28, 0):
            specs, made = described(text, MOST_ELEMENTS=most)
            self.smaller(made)
            self.assertEqual(bounds(specs["targets"]), ("integers", 0, 4096))
            self.assertEqual(self.kept(made), [])

    def test_other_draws_are_looked_at(self):
        text = CLASSES % "torch.randint(0, classes, (rows, 8)).amax(1).int()"
        specs, made = described(text)
        self.smaller(made)
        kind, low, high = bounds(specs["targets"])
        self.assertEqual((kind, self.kept(made)), ("integers", []))
        self.assertTrue(low >= 0 and 4090 < high <= 4096)

    def test_unknown_numbers_have_a_note(self):
        text = CLASSES % "torch.randint(0, classes, (rows, 8)).amax(1).int()"
        for patched in ({"MOST_ELEMENTS": 0}, {"bytes_available": lambda: 1 << 20}):
            specs, made = described(text, **patched)
            self.assertLess(specs["targets"]["high"], 4096)
            self.assertEqual(
                self.kept(made), ["input targets: bounds as measured at the smaller size"]
            )

    def test_draw_that_fails_refuses_nothing(self):
        text = CLASSES % "own()"
        text += "def own():\n    large = classes == 4096 and rows == 2048\n"
        text += "    if large and not torch.empty(1).is_meta:\n        raise MemoryError\n"
        text += "    return torch.randint(0, classes, (rows,)).int()\n"
        specs, made = described(text)
        self.assertLess(specs["targets"]["high"], 4096)
        self.assertEqual(len(self.kept(made)), 1)

    def test_offsets_count_the_rows(self):
        specs, made = described(GROUPS)
        self.smaller(made)
        self.assertEqual(specs["ends"]["kind"], "offsets")
        self.assertEqual(specs["ends"]["total"], 8192)
        self.assertEqual(self.kept(made), [])

    def test_unseen_sizes_stay_in_bounds(self):
        specs, made = described(FLOATS)
        self.smaller(made)
        self.assertEqual(bounds(specs["index"]), ("integers", 0, 40000))
        tables = []
        for row in made["unseen"]:
            if row["unseen"] != "sizes":
                continue
            spec = row.get("distributions", {}).get("index", specs["index"])
            self.assertLessEqual(spec["high"], row["shapes"]["table"][0])
            tables.append(row["shapes"]["table"][0])
        self.assertTrue(any(n < 40000 for n in tables))


class Workloads(unittest.TestCase):
    def test_each_has_its_own(self):
        specs, made = described(PAGES)
        self.assertTrue(any(note.startswith("measured at ") for note in made["notes"]))
        rows = {w["name"]: {**specs, **w.get("distributions", {})} for w in made["workloads"]}
        for name, length in (("small", 512), ("large", 1024)):
            count = 64 * length + 8
            self.assertEqual(bounds(rows[name]["table"]), ("integers", 0, count))
            self.assertEqual(bounds(rows[name]["lengths"]), ("integers", 1, length + 1))
        self.assertIn("input lengths: constant 512, drawn from 1 to it", made["notes"])

    def test_offsets(self):
        text = GROUPS + "KFORGE_WORKLOADS = [{'patches': {'rows': n}} for n in (80, 96, 1024)]\n"
        specs, made = described(text, MOST_ELEMENTS=0)
        rows = [{**specs, **w.get("distributions", {})}["ends"] for w in made["workloads"]]
        self.assertEqual([row["total"] for row in rows], [80, 96, 1024])

    def test_above_the_limit(self):
        specs, made = described(PAGES, MOST_ELEMENTS=0)
        rows = {w["name"]: {**specs, **w.get("distributions", {})} for w in made["workloads"]}
        self.assertEqual(bounds(rows["large"]["lengths"]), ("integers", 1, 1025))
        self.assertEqual(rows["large"]["table"], rows["small"]["table"])
        self.assertIn("input table of large: bounds as measured for small", made["notes"])

    def test_unknown_numbers_name_no_missing_element(self):
        text = PAGES.replace("count = rows * length + 8", "count = width // 2")
        text = text.replace("torch.randperm(count)[: rows * length].reshape(rows, length)", "own()")
        text = text.replace("count, width)", "count, wide)").replace("rows,", "wide, rows,", 1)
        text = text.replace("= 4,", "= 8, 4,", 1)
        text += """
def own():
    return torch.randint(0, width // 2, (rows, length))
KFORGE_WORKLOADS = [
    {"name": "small", "patches": {"rows": 64, "width": 200, "wide": 8}},
    {"name": "large", "patches": {"rows": 64, "width": 100, "wide": 256}},
]
"""
        specs, made = described(text, MOST_ELEMENTS=0)
        self.assertEqual(bounds(specs["table"]), ("integers", 0, 100))
        (row,) = [w for w in made["workloads"] if w["name"] == "large"]
        self.assertEqual(bounds(row["distributions"]["table"]), ("integers", 0, 50))



class Bounds(unittest.TestCase):
    def test_kinds(self):
        integers = {"kind": "integers", "low": 1, "high": 9, "vary": False}
        permutation, offsets = {"kind": "permutation"}, {"kind": "offsets", "total": 8}
        for known, low, high, count, expected in (
            (integers, 0, 20, 5, {**integers, "low": 0, "high": 20}),
            # One number in all draws: a length, as measured from 1 to it.
            (integers, 16, 17, 5, {**integers, "low": 1, "high": 17}),
            (integers, 0, 1, 5, {**integers, "low": 0, "high": 1}),
            ({"kind": "constant", "value": 3}, 7, 8, 5, {"kind": "constant", "value": 7}),
            ({"kind": "constant", "value": 3}, 7, 9, 5, None),
            (permutation, 0, 16, 16, permutation),
            (permutation, 0, 99, 16, permutation),
            # More elements than numbers: as a permutation they would be out of bounds.
            (permutation, 0, 9, 16, {"kind": "integers", "low": 0, "high": 9}),
            (offsets, 0, 17, 4, {"kind": "offsets", "total": 16}),
            (offsets, 1, 17, 4, None),
        ):
            self.assertEqual(full_numbers.with_bounds(known, low, high, count), expected)

    def test_constants_of_factories(self):
        import distributions

        with distributions.Watch() as watch:
            made = torch.full((3,), 5), torch.zeros(2, dtype=torch.int32), torch.ones(2)
            changed = torch.full((3,), 5).add_(1)
        values = [(watch.constant(tensor)) for tensor in made]
        self.assertEqual(values, [5, 0, 1])
        self.assertIsNone(watch.constant(changed))
        self.assertEqual([watch.spec(tensor) for tensor in made], [None] * 3)


if __name__ == "__main__":
    unittest.main()
