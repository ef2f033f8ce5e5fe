"""Tests evaluator/torch/load.py and cpp_extension/build.py: text that Python itself accepts."""

import hashlib
import json
import os
import unittest

from cpp_extension import build
import load

TEXT = "\ufeffimport torch\r\nfrom torch.utils.cpp_extension import load_inline\r\nx = load_inline('a', '')\r\n"


class Answers(unittest.TestCase):
    def test_only_an_answer_with_the_secret_counts(self):
        secret = b"5" * 64
        file = os.memfd_create("answer")
        os.write(file, secret)
        given = os.dup(file)
        answer = load.Answer(given)
        self.assertRaises(OSError, os.fstat, given)
        self.assertEqual(os.fstat(file).st_size, 0)
        for number in os.listdir("/proc/self/fd"):
            at = "/proc/self/fd/" + number
            if os.path.islink(at) and "memfd:answer" in os.readlink(at):
                self.assertFalse(os.get_inheritable(int(number)))
        answer.write({"a": "\u00e9"})
        seal, text = os.pread(file, 1000, 0).split(b"\n", 1)
        self.assertEqual(json.loads(text), {"a": "\u00e9"})
        self.assertEqual(seal.decode(), hashlib.sha256(secret + text + secret).hexdigest())


class Plans(unittest.TestCase):
    def test_give_the_problem_its_names_patches_and_nesting(self):
        plan = {
            "problem": {
                "text": "import torch\nN = 4\nclass Other(torch.nn.Module):\n    pass\n",
                "name": "mine.py",
            },
            "patches": {"N": 7},
            "class": "Other",
        }
        problem = load.Problem.of_plan(plan)
        self.assertEqual((problem.name, problem.class_name), ("mine.py", "Other"))
        self.assertEqual(problem.module.N, 7)
        self.assertIsNone(problem.nesting)
        self.assertEqual(load.Problem.of_plan(plan | {"structure": "[x]"}).nesting, "[x]")


class ByteOrderMark(unittest.TestCase):
    def test_is_skipped(self):
        self.assertEqual(len(load.parse(TEXT, "solution.py").body), 3)
        self.assertEqual(list(build.places(TEXT)), [(3, 3)])

    def test_elsewhere_is_an_error(self):
        with self.assertRaises(load.LoadError):
            load.parse("x = 1\n\ufeffy = 2\n", "solution.py")


class Template(unittest.TestCase):
    """The lines that a file without get_inputs() is offered work when they are appended as they are."""

    def problem_of(self, text):
        problem = load.Problem(text, "mine.py")
        with self.assertRaises(load.LoadError) as fault:
            problem.inputs()
        lines = fault.exception.todo.split("append it: ")[1].split(" / ")
        return load.Problem(text + "\n".join(lines) + "\n", "mine.py"), lines

    def test_runs_as_it_is(self):
        forward = "    def forward(self, x):\n        return x + self.b\n"
        init = "    def __init__(self, %s):\n        super().__init__()\n        self.b = width\n"
        for head, base in (
            ("from torch import nn", "nn.Module"),
            ("import torch.nn as nn", "nn.Module"),
            ("import torch as t", "t.nn.Module"),
            ("from torch import nn, Tensor as torch", "nn.Module"),
            ("import torch", "torch.nn.Module"),
        ):
            for arguments in ("width", "*, width", "width, *, depth", "width, depth=3"):
                text = "%s\nclass Model(%s):\n%s%s" % (head, base, init % arguments, forward)
                problem, lines = self.problem_of(text)
                result = problem.construct()(*problem.inputs())
                self.assertEqual(tuple(result.shape), (16, 128))
                self.assertEqual("import torch" in lines, head != "import torch")

    def test_keywords_of_forward(self):
        text = (
            "from torch import nn\nclass Model(nn.Module):\n"
            "    def forward(self, x, *, scale):\n        return x * scale\n"
        )
        problem, _ = self.problem_of(text)
        inputs = problem.inputs()
        self.assertEqual(tuple(problem.construct()(*inputs).shape), (16, 128))


if __name__ == "__main__":
    unittest.main()
