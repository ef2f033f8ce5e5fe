"""Tests evaluator/torch/cpp_extension/cuda_on_cpu.py: which CUDA an extension finds."""
import json
import os
import sys
import tempfile
import unittest
from unittest import mock

import torch
from torch.utils import cpp_extension

from cpp_extension import extensions
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


class Standard(unittest.TestCase):
    """Headers of a newer PyTorch need a newer C++ standard."""

    # Lines with the standard, as versions of PyTorch have them.
    VERSIONS = {
        "1.13": "cuda_flags.append('-std=c++14')",
        "2.4": "cflags = common_cflags + ['-fPIC', '-std=c++17'] + extra_cflags",
        "2.15": "cflags = common_cflags + ['/std:c++20']\n ['-fPIC', '-std=c++20'] + extra_cflags",
    }

    def without_cuda(self, version, **flags):
        """Returns the standards for the C++ and the CUDA source of an extension."""
        text = self.VERSIONS[version]
        with tempfile.TemporaryDirectory(prefix="kforge-test-") as here:
            given = dict(flags, name="e", build_directory=here, cpp_sources="")
            given["cuda_sources"] = "int a;"
            with mock.patch.object(cuda_on_cpu.inspect, "getsource", lambda function: text):
                given = cuda_on_cpu.without_cuda(given, extensions.as_list)
        command, _ = ninja_file.cuda_jobs.pop()
        return [
            [word for word in words if word.startswith("-std=")][-1]
            for words in (given["extra_cflags"], command)
        ]

    def test_is_that_of_pytorch_but_not_too_old_for_our_headers(self):
        for version, expected in (("1.13", "c++17"), ("2.4", "c++17"), ("2.15", "c++20")):
            self.assertEqual(self.without_cuda(version), ["-std=" + expected] * 2, version)

    def test_is_the_solutions_own_if_it_names_one(self):
        for version in self.VERSIONS:
            own = {"extra_cflags": ["-O1 -std=gnu++20"], "extra_cuda_cflags": ["--std=c++17"]}
            self.assertEqual(self.without_cuda(version, **own), ["-std=gnu++20", "-std=c++17"])
            own = {"extra_cflags": ["-std=c++11"], "extra_cuda_cflags": ["-std=c++14"]}
            self.assertEqual(self.without_cuda(version, **own), ["-std=c++17"] * 2)

    def test_is_found_in_the_installed_pytorch(self):
        """Compares with the build file that the installed PyTorch writes."""
        with tempfile.TemporaryDirectory(prefix="kforge-test-") as here:
            path = os.path.join(here, "a.cpp")
            open(path, "w").close()
            with mock.patch.multiple(
                cpp_extension, _run_ninja_build=mock.Mock(), verify_ninja_availability=mock.Mock()
            ), mock.patch.object(cpp_extension, "_import_module_from_library", mock.Mock()):
                cpp_extension.load("kforge_standard", [path], build_directory=here)
            with open(os.path.join(here, "build.ninja"), encoding="utf-8") as file:
                flags = ninja_file.parse(file.read())[0]["cflags"]
        self.assertIn("-std=" + cuda_on_cpu.pytorchs_standard(), flags.split())


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
