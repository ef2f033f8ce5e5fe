"""Tests the numbers of inputs at the size of the task, which is measured at a smaller one."""

import tempfile
import time
import types
import unittest
from unittest import mock

import describe
import full_numbers
import meta
import torch
import unseen

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
# Indices of a table, which are no direct draw. One workload has a smaller table, and more indices.
SMALLER = """
import torch
rows, width, count = 64, 64, 4096
class Model(torch.nn.Module):
    def forward(self, table, index):
        return table.index_select(0, index.long())
def get_inputs():
    return [torch.randn(rows, width), torch.randint(0, rows - 10, (count,)).int()]
KFORGE_WORKLOADS = [
    {"name": "base", "patches": {"rows": 4096, "width": 4}},
    {"name": "few", "patches": {"rows": 100, "width": 256, "count": 8192}},
]
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

    def test_note_of_a_constant_is_of_the_size(self):
        # At the size of the task the lengths differ, or are unknown.
        text = PAGES[: PAGES.index("KFORGE_WORKLOADS")]
        text = text.replace("width = 4, 32", "width = 64, 512")
        note = "input lengths: constant %d, drawn from 1 to it"
        self.assertIn(note % 512, described(text)[1]["notes"])
        text = text.replace("torch.full((rows,), length, dtype=torch.int32)", "own()")
        text += """
def own():
    if length < 512:
        return torch.full((rows,), length).int()
    return torch.randint(1, length + 1, (rows,)).int()
"""
        for patched in ({}, {"MOST_ELEMENTS": 0}):
            specs, made = described(text, **patched)
            self.smaller(made)
            self.assertEqual(specs["lengths"]["low"], 1)
            self.assertEqual([n for n in made["notes"] if "constant" in n], [])

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

    def test_masks_keep_both_numbers(self):
        flags, three = {"kind": "integers", "low": 0, "high": 2}, torch.zeros(2, 3)
        index = {"kind": "integers", "low": 0, "high": 3}
        args = types.SimpleNamespace(
            specs=[flags, flags, index, index],
            first=[three, three.bool(), three.bool(), three.int()],
            counted={},
        )
        trial = unseen.Trial(args, None, types.SimpleNamespace(seconds=8.0), None, True)
        self.assertEqual(trial.specs_for([(1, 1)] * 4), {3: {**index, "high": 1}})


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

    def test_seen_bounds_fit_a_smaller_table(self):
        specs, made = described(SMALLER, MOST_ELEMENTS=0)
        self.assertTrue(100 < specs["index"]["high"] < 4096, specs)
        rows = {w["name"]: {**specs, **w.get("distributions", {})} for w in made["workloads"]}
        self.assertEqual(bounds(rows["few"]["index"]), ("integers", 0, 100))
        self.assertIn("input index of few: bounds as measured for base", made["notes"])

    def test_unknown_numbers_of_a_smaller_size_leave_it_out(self):
        # The numbers exceed all extents, and a smaller one may be a factor of their bound.
        text = SMALLER.replace("rows - 10", "rows * width - 10")
        text = text.replace("table.index", "table.view(-1).index")
        specs, made = described(text, MOST_ELEMENTS=0)
        self.assertGreater(specs["index"]["high"], 4096)
        self.assertEqual([w["name"] for w in made["workloads"]], ["base"])
        self.assertTrue(made["workloads"][0].get("timed", True))
        self.assertIn(
            "unknown numbers of smaller sizes, left out: few (bounds of input index)",
            made["notes"],
        )

    def test_each_has_its_part_of_the_time(self):
        options = types.SimpleNamespace(seconds=1600.0)
        found, ends = full_numbers.Workloads([], [], [], options, 4), []
        with mock.patch.object(full_numbers, "specs") as specs:
            specs.return_value = [], [], []
            for _ in range(4):
                found.specs("one", None, [])
                ends.append(specs.call_args[0][-1])
        start = found.until - 100
        for end, share in zip(ends, (25, 100 / 3, 50, 100)):
            self.assertAlmostEqual(end - start, share, delta=5)


class Draws(unittest.TestCase):
    """Draws of a problem that tensors without storage do not show."""

    KNOWN = {"kind": "integers", "low": 0, "high": 2000}

    def found(self, draw, count):
        shapes = [torch.empty(4, dtype=torch.int32, device="meta")] * count
        with mock.patch.object(full_numbers, "_without_storage", lambda *_: {}):
            with mock.patch("problem_measure.draw_inputs", draw):
                until = time.process_time() + 60
                return full_numbers.specs(None, [self.KNOWN] * count, shapes, {}, until)

    def test_one_input_may_fail(self):
        # Complex numbers have no minimum.
        values = [torch.zeros(4, dtype=torch.complex64), torch.tensor([3, 0, 1, 9])]
        made, left, constants = self.found(lambda *_: values, 2)
        self.assertEqual((left, constants), ([0], []))
        self.assertEqual(bounds(made[1]), ("integers", 0, 10))

    def test_second_draw_may_fail(self):
        def draw(_, seed):
            if seed == 43:
                raise MemoryError
            return [torch.full((4,), 7), torch.tensor([3, 0, 1, 9])]

        made, left, constants = self.found(draw, 2)
        self.assertEqual((left, constants), ([1], [0]))
        self.assertEqual(bounds(made[0]), ("integers", 0, 8))

    def test_no_draw_without_time(self):
        # The clock goes on between two looks. 0 seconds would mean no limit.
        for times in ([59.995, 60.0], [59.995, 60.5], [60.0, 60.0], [61.0, 61.0]):
            with mock.patch("time.process_time", side_effect=[0.0] + times):
                with mock.patch("meta.at_most") as limit:
                    made, left, _ = self.found(lambda *_: [torch.tensor([3, 0, 1, 9])], 1)
            limit.assert_not_called()
            self.assertEqual((made, left), ([self.KNOWN], [0]))

    def test_late_inputs_end_the_draw(self):
        def late(_):
            raise meta.TooSlow("late")

        with self.assertRaises(meta.TooSlow):
            full_numbers._each([0], late)


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

    def test_in_another_workload(self):
        integers = {"kind": "integers", "low": 0, "high": 8180}
        lengths = {"kind": "integers", "low": 1, "high": 1025}
        constant, mask = {"kind": "constant", "value": 1024}, {**integers, "high": 2}
        permutation, offsets = {"kind": "permutation"}, {"kind": "offsets", "total": 64}
        for known, counts, pairs, expected in (
            # Seen bounds hardly equal an extent.
            (integers, (9, 9), [(8192, 100), (64, 64)], {**integers, "high": 100}),
            (integers, (9, 9), [(8192, 9000), (64, 32)], integers),
            (integers, (9, 9), [(9000, 400), (8192, 300)], {**integers, "high": 300}),
            # Nothing shows which extent they count.
            (integers, (9, 9), [(64, 64), (32, 33)], integers),
            (integers, (9, 9), [(64, 64), (32, 31)], None),
            (integers, (9, 8), [(64, 64)], None),
            # A length may be the extent.
            (lengths, (9, 9), [(1024, 512), (9999, 99999)], {**lengths, "high": 513}),
            (lengths, (9, 9), [(2048, 1)], None),
            (constant, (9, 9), [(1024, 512)], {"kind": "constant", "value": 512}),
            (constant, (9, 9), [(64, 32)], None),
            (mask, (9, 9), [(4096, 1)], mask),
            (mask, (9, 9), [(2, 1)], None),
            (permutation, (64, 128), [(64, 128)], permutation),
            (permutation, (64, 128), [(64, 64)], {**integers, "high": 64}),
            (permutation, (64, 128), [(8, 8)], {**integers, "high": 64}),
            (permutation, (64, 32), [(8, 8)], None),
            # Totals are the extent that they count.
            (offsets, (9, 9), [(64, 80), (64, 96), (128, 8)], {**offsets, "total": 80}),
            (offsets, (9, 9), [(128, 16)], {**offsets, "total": 16}),
            (offsets, (9, 9), [(32, 32)], offsets),
            (offsets, (9, 9), [(32, 16)], None),
        ):
            self.assertEqual(full_numbers.within(known, counts, pairs), expected, known)

    def test_constants_of_factories(self):
        import distributions

        with distributions.Watch() as watch:
            made = torch.full((3,), 5), torch.zeros(2, dtype=torch.int32), torch.ones(2)
            changed = torch.full((3,), 5).add_(1)
        self.assertEqual([watch.constant(tensor) for tensor in made], [5, 0, 1])
        self.assertIsNone(watch.constant(changed))
        self.assertEqual([watch.spec(tensor) for tensor in made], [None] * 3)


if __name__ == "__main__":
    unittest.main()
