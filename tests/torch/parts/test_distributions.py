"""What import makes of a problem's inputs: patterns that the judge can draw, and stay legal."""
import os
import sys
import tempfile
import unittest

import torch

import describe
import distributions as dist
import load
import problem_measure

HEAD = (
    "import torch\n\n\nclass Model(torch.nn.Module):\n"
    "    def forward(self, %s):\n        return %s\n\n\n"
)


class Options:
    mode, max_elements, class_name, threads, seconds, descriptor = "train", 0, "Model", 1, 60, -1


def described(names, result, inputs):
    text = HEAD % (names, result) + "def get_inputs():\n    %s\n" % inputs
    text += "\n\ndef get_init_inputs():\n    return []\n"
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "problem.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return describe.run(path, {}, Options)


def specs(found):
    return [row["distribution"] for row in found["inputs"]]


class Distributions(unittest.TestCase):
    def test_positive_definite(self):
        found = described(
            "a",
            "torch.linalg.cholesky(a)",
            "a = torch.randn(3, 8, 8)\n    return [a @ a.transpose(1, 2) + 0.1 * torch.eye(8)]",
        )
        self.assertEqual(specs(found)[0]["kind"], "positive_definite")
        self.assertEqual(
            specs(described("a", "a + 1", "a = torch.randn(8, 8)\n    return [a + a.T]"))[0]["kind"],
            "symmetric",
        )

    def test_own_seeds_count_for_nothing(self):
        for draw in (
            "torch.manual_seed(0)\n    return [torch.randn(64, 8)]",
            "g = torch.Generator().manual_seed(0)\n    return [torch.randn(64, 8, generator=g)]",
            "import numpy\n    r = numpy.random.default_rng(0)\n"
            "    return [torch.tensor(r.standard_normal((64, 8)), dtype=torch.float32)]",
            "import random\n    random.seed(1)\n"
            "    return [torch.tensor([random.gauss(0, 1) for _ in range(512)])]",
        ):
            found = described("x", "x * torch.sigmoid(x)", draw)
            self.assertIsNone(found["unfit"], draw)
            self.assertEqual(specs(found)[0]["kind"], "normal", draw)

    def test_constructors_with_seeds_of_their_own(self):
        """The numbers that they draw are arguments of a task."""
        numbers = "torch.tensor(%s, dtype=torch.float32)"
        for head, draw in (
            ("", "torch.manual_seed(3), torch.randn(64, 8)"),
            ("", "torch.randn(64, 8, generator=torch.Generator().manual_seed(3))"),
            ("", "torch.empty(64, 8).normal_(generator=torch.Generator().manual_seed(3))"),
            (
                "g = torch.Generator()",
                "torch.ones(64, 8).log_normal_(-2, 1, generator=g.manual_seed(3))",
            ),
            ("import numpy", numbers % "numpy.random.RandomState(3).randn(64, 8)"),
            ("", "torch.ones(64, 8).div(2).bernoulli(generator=torch.Generator().manual_seed(3))"),
            (
                "",
                "torch.ones(64, 8).multinomial(8, True, generator=torch.Generator().manual_seed(3))"
                ".float()",
            ),
            ("state = torch.get_rng_state()", "torch.set_rng_state(state), torch.randn(64, 8)"),
            (
                "import numpy\nstate = numpy.random.get_state()",
                "numpy.random.set_state(state), " + numbers % "numpy.random.randn(64, 8)",
            ),
            (
                "import random\nstate = random.getstate()",
                "random.setstate(state), "
                + numbers % "[[random.gauss(0, 1)] * 8 for _ in range(64)]",
            ),
            (
                "import random\nstate = random.getstate()",
                "(r := random.Random(1)).setstate(state), "
                + numbers % "[[r.gauss(0, 1)] * 8 for _ in range(64)]",
            ),
            ("from torch import manual_seed", "manual_seed(3), torch.randn(64, 8)"),
            (
                "from numpy.random import RandomState, default_rng",
                numbers % "RandomState(3).randn(64, 8) + default_rng(3).standard_normal((64, 8))",
            ),
            (
                "import random",
                "random.seed(3), " + numbers % "[[random.gauss(0, 1)] * 8 for _ in range(64)]",
            ),
            (
                "from random import Random",
                numbers % "(lambda r: [[r.gauss(0, 1)] * 8 for _ in range(64)])(Random(3))",
            ),
        ):
            text = (
                "import torch\n%s\n\nclass Model(torch.nn.Module):\n"
                "    def __init__(self):\n        super().__init__()\n"
                "        drawn = (%s,)[-1]\n"
                "        self.register_buffer('w', (drawn * 8).to(torch.int8))\n"
                "        self.register_buffer('scale', drawn)\n"
                "    def forward(self, x):\n        return x @ (self.w * self.scale)\n"
                "def get_inputs():\n    return [torch.randn(4, 64)]\n" % (head, draw)
            )
            found = problem_measure.Arguments(load.Problem(text, "own.py"), "train")
            self.assertEqual((list(found.state), found.fixed), (["w", "scale"], []), draw)

    def test_numpys_bit_generators(self):
        """Their seeds count for nothing, either, and other seeds still give other numbers."""
        numbers = "torch.tensor(%s.standard_normal((64, 8)), dtype=torch.float32)"
        for head, one, other in (
            ("import numpy", "numpy.random.Generator(numpy.random.PCG64(%s))", "(3, 4)"),
            ("from numpy.random import Generator, PCG64", "Generator(PCG64(seed=%s))", "(3, 4)"),
            ("from numpy.random import Generator, Philox", "Generator(Philox(key=%s))", "(3, 4)"),
            ("import numpy as np", "np.random.default_rng(np.random.MT19937(%s))", "(3, 4)"),
            ("import numpy as np", "np.random.default_rng(np.random.SeedSequence(%s))", "(3, 4)"),
            ("import numpy as np", "np.random.default_rng(%s)", "(3, 4)"),
            ("import numpy as np\nown = np.random.default_rng(0)", "(own, %s)[0]", "(3, 3)"),
        ):
            text = "%s\nimport torch\n\nclass Model(torch.nn.Module):\n" % head
            text += "    def forward(self, x, y):\n        return x + y\n"
            text += "def get_inputs():\n    return [%s for s in %s]\n" % (
                numbers % (one % "s"),
                other,
            )
            drawn = []
            for turn in range(2):
                problem = load.Problem(text, "numbers.py")
                drawn += [problem_measure.draw_inputs(problem, seed) for seed in (1, 1, 2)][turn:]
            self.assertTrue(torch.equal(drawn[0][0], drawn[1][0]), one)
            self.assertTrue(torch.equal(drawn[1][0], drawn[3][0]), one)
            self.assertFalse(torch.equal(drawn[0][0], drawn[2][0]), one)
            self.assertFalse(torch.equal(drawn[0][0], drawn[0][1]), one)

    def test_the_seed_functions_come_back(self):
        before = torch.manual_seed, torch.Tensor.normal_, torch.randn
        described("x", "x + 1", "return [torch.randn(64)]")
        self.assertEqual(before, (torch.manual_seed, torch.Tensor.normal_, torch.randn))

    def test_inputs_that_only_the_problem_can_make(self):
        """Inputs that depend on each other come from get_inputs, and the description says so."""
        labels = "torch.randint(0, 16, (256,))"
        rows = "x * v.repeat_interleave(c)"
        for names, result, inputs in (
            (
                "x, v, c",
                rows,
                "k = %s\n    return [torch.randn(256), torch.randn(16), torch.bincount(k, minlength=16)]"
                % labels,
            ),
            ("x, m", "x + m", "return [torch.randn(8, 8), torch.arange(64.0).view(8, 8).sin()]"),
            ("x", "(x - 2).log()", "return [2 + torch.randn(256).abs()]"),
        ):
            found = described(names, result, inputs)
            self.assertIsNone(found["unfit"], inputs)
            self.assertEqual({s["kind"] for s in specs(found)}, {"generated"}, inputs)
            self.assertIn("own generator", found["notes"][0])
            self.assertEqual(found["unseen"], [])
            same = "input m is the same in every draw" in found["notes"]
            self.assertEqual(same, names == "x, m", found["notes"])
        # Drawn inputs that do are better: the judge may vary them.
        self.assertEqual(specs(described("x", "x + 1", "return [torch.randn(64)]"))[0]["kind"], "normal")

    def test_generated_input_without_influence(self):
        inputs = "return [2 + torch.randn(256).abs(), torch.randn(256)]"
        found = described("x, y", "(x - 2).log() + 0 * y", inputs)
        self.assertIsNone(found["unfit"])
        self.assertIn("input y does not influence the output: a candidate may", found["notes"][1])

    def test_what_no_generator_mends(self):
        for names, result, inputs, rule in (
            ("x", "x + 1", "return [torch.arange(64.0).sin()]", "inputs.fixed"),
            ("x, y", "x + 1", "return [torch.randn(64), torch.randn(4)]", "inputs.without_influence"),
            ("x", "x * 0", "return [torch.randn(64)]", "outputs.zero"),
        ):
            found = described(names, result, inputs)
            self.assertEqual((found["unfit"] or {}).get("rule"), rule, inputs)

    def test_offsets_of_the_rows(self):
        body = "torch.stack([x[int(o[i]) : int(o[i + 1])].sum() for i in range(8)])"
        rows = "return [torch.randn(256, 4), torch.arange(0, 257, 32)]"
        found = described("x, o", body, rows)
        self.assertEqual(specs(found)[1], {"kind": "offsets", "total": 256})
        drawn = (
            "c = torch.randint(0, 40, (8,)).cumsum(0).clamp(max=256)\n    c[-1] = 256\n"
            "    return [torch.randn(256, 4), torch.cat([torch.zeros(1, dtype=torch.int64), c])]"
        )
        self.assertEqual(specs(described("x, o", body, drawn))[1]["kind"], "offsets")
        # The last one counts nothing here, and positions are no offsets.
        other = described("x, o", body, rows.replace("256, 4", "255, 4"))
        positions = described("x, o", "x[o]", "return [torch.randn(9), torch.arange(10) % 9]")
        for found in (other, positions):
            self.assertEqual(specs(found), [{"kind": "generated"}] * 2)
            self.assertIn("input o is the same pattern in every draw", found["notes"][0])

    def test_sorted_keys_stay_sorted(self):
        found = described(
            "keys, w",
            "torch.bincount(keys, minlength=50) * w",
            "return [torch.randint(0, 50, (512,)).sort()[0], torch.randn(50)]",
        )
        spec = specs(found)[0]
        self.assertEqual((spec["kind"], spec["low"], spec["high"]), ("sorted", 0, 50))

    def test_lengths_are_drawn_up_to_the_constant(self):
        body = "x * (torch.arange(16) < lengths[:, None])"
        found = described("x, lengths", body, "return [torch.randn(4, 16), torch.full((4,), 16)]")
        self.assertEqual(specs(found)[1], {"kind": "integers", "low": 1, "high": 17})

    def test_a_relu_of_positive_numbers_gets_others(self):
        found = described("x", "torch.relu(x)", "return [torch.rand(64, 64)]")
        self.assertEqual(specs(found)[0], {"kind": "uniform", "low": -1, "high": 1})

    def test_labels_and_masks_keep_their_range(self):
        found = described(
            "p, t, m",
            "torch.nn.functional.cross_entropy(p, t, reduction='none') * m",
            "return [torch.randn(64, 10), torch.randint(0, 10, (64,)), torch.rand(64) < 0.5]",
        )
        self.assertEqual(
            specs(found)[1:],
            [{"kind": "integers", "low": 0, "high": 10}, {"kind": "integers", "low": 0, "high": 2}],
        )

    def test_what_can_not_be_equal_is_not_varied(self):
        found = described(
            "x, g",
            "x / (g != g[0]).sum()",
            "return [torch.rand(64) + 1, torch.randint(0, 9, (64,))]",
        )
        self.assertIs(specs(found)[1]["vary"], False)

    def test_drawn_structures_are_legal(self):
        generator = torch.Generator().manual_seed(1)
        for spec in (
            {"kind": "integers", "low": 3, "high": 9},
            {"kind": "sorted", "low": 3, "high": 9},
            {"kind": "offsets", "total": 70},
            {"kind": "permutation"},
            {"kind": "one_hot"},
            {"kind": "signs"},
        ):
            shape = (40,) if spec["kind"] == "offsets" else (5, 8)
            drawn = dist.sample(spec, shape, torch.int64, generator)
            for how in ("equal", "clusters"):
                other = dist.structured(spec, drawn, how, generator)
                for values in (drawn,) if other is None else (drawn, other):
                    self.assertEqual(values.shape, drawn.shape)
                    if spec["kind"] in ("integers", "sorted"):
                        self.assertTrue(bool(((values >= 3) & (values < 9)).all()))
                    if spec["kind"] in ("sorted", "offsets"):
                        self.assertTrue(bool((values.diff() >= 0).all()))
                    if spec["kind"] == "offsets":
                        self.assertEqual((int(values[0]), int(values[-1])), (0, 70))
                    if spec["kind"] == "permutation":
                        self.assertEqual(sorted(values.reshape(-1).tolist()), list(range(40)))
                    if spec["kind"] == "one_hot":
                        self.assertTrue(bool((values.sum(-1) == 1).all()))


if __name__ == "__main__":
    sys.exit(unittest.main())
