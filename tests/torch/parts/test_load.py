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


if __name__ == "__main__":
    unittest.main()
