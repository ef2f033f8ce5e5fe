"""Tests evaluator/torch/cpp_extension/cuda_on_cpu.py: which CUDA an extension finds."""
import json
import os
import sys
import tempfile
import unittest
from unittest import mock

import torch

from cpp_extension import ninja_file
from cpp_extension import cuda_on_cpu


class OwnRuntimeFirst(unittest.TestCase):
    def flags_within(self, cuda):
        with mock.patch.object(torch.version, "cuda", cuda):
            try:
                with cuda_on_cpu.own_runtime_first():
                    found = sys.getdlopenflags()
                    raise KeyError
            except KeyError:
                return found

    def test_only_beside_a_pytorch_that_has_brought_another(self):
        before = sys.getdlopenflags()
        self.assertEqual(self.flags_within("13.0"), before | os.RTLD_DEEPBIND)
        self.assertEqual(self.flags_within(None), before)
        self.assertEqual(sys.getdlopenflags(), before)


class CompiledAgain(unittest.TestCase):
    """The judge blames the machine only by this, so a text of foreign code has to mean the same."""

    def setUp(self):
        self.here = tempfile.TemporaryDirectory(prefix="kforge-test-")
        self.addCleanup(self.here.cleanup)
        patched = mock.patch.object(cuda_on_cpu, "COMPILER", "a compiler")
        patched.start()
        self.addCleanup(patched.stop)
        self.runs = []

        def run_either(folder, ways):
            source = ways[-1][2]
            with open(source, encoding="utf-8") as file:
                self.runs.append((ways[-1], file.read()))
            return 3, "lacks"

        patched = mock.patch.object(ninja_file, "run_either", run_either)
        patched.start()
        self.addCleanup(patched.stop)

    def folder(self, name):
        path = os.path.join(os.path.realpath(self.here.name), name)
        os.makedirs(path, exist_ok=True)
        return path

    def test_source_flags_and_headers_arrive(self):
        first, second = self.folder("first"), self.folder("second")
        for name, text in (("a.cu", '#include "b/c.cuh"\n'), ("b/c.cuh", "int c;\n")):
            os.makedirs(os.path.dirname(os.path.join(first, name)), exist_ok=True)
            with open(os.path.join(first, name), "w", encoding="utf-8") as file:
                file.write(text)
        flags = ["-DA=1", "-I%s/b" % first, "-o/etc/x"]
        cuda_on_cpu.compile_source(os.path.join(first, "a.cu"), first, "e", flags)
        command, source = ninja_file.cuda_jobs.pop()
        asked = cuda_on_cpu.describe(source)
        self.assertEqual(cuda_on_cpu.recompile(asked, second), (3, "lacks"))
        again, text = self.runs[0]
        self.assertEqual(again, [word.replace(first, second) for word in command])
        self.assertIn('#include "b/c.cuh"', text)
        with open(os.path.join(second, "b", "c.cuh"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "int c;\n")

    def test_nothing_is_written_elsewhere(self):
        given = {"file": "a.cu", "text": "", "name": "e", "flags": [], "headers": []}
        for change in (
            {"file": "../a.cu"},
            {"file": "/tmp/kforge-elsewhere.cu"},
            {"headers": [["../b.h", ""]]},
            {"text": 1},
            {"file": 1},
            {"flags": [1]},
        ):
            with self.assertRaises((ValueError, TypeError, AttributeError), msg=str(change)):
                cuda_on_cpu.recompile(json.dumps(dict(given, **change)), self.folder("x"))
        self.assertEqual(self.runs, [])


if __name__ == "__main__":
    unittest.main()
