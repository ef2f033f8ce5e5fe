"""Tests evaluator/torch/cpp_extension/ninja_file.py and slim_headers.py:
the ways in which a source is compiled, with a
compiler that records its arguments."""
import os
import tempfile
import unittest

from cpp_extension import ninja_file
from cpp_extension import slim_headers

BUILD = """
ninja_required_version = 1.3
cxx = sh ./compiler
cflags = -DNAME=1
post_cflags =
cuda_cflags = -DNAME=2
ldflags = -lm
rule compile
  command = $cxx $cflags -c $in -o $out $post_cflags
rule cuda_compile
  command = $cxx $cuda_cflags -c $in -o $out
rule link
  command = $cxx $in $ldflags -o $out
build one.o: compile %(here)s/one.cpp
build two.o: cuda_compile %(here)s/two.cu
build both.so: link one.o two.o
default both.so
"""
# Refuses a source with "whole" unless all headers are there, a source with "never" always, and a
# source with "lacks" as kforge-cpucc refuses unsupported code. A signal ends it on "killed".
COMPILER = """echo "$@" >>calls
for word; do case $word in
*.cpp | *.cu)
    if grep -q never $word; then echo "$word:1: error: never"; exit 1; fi
    if grep -q killed $word; then kill -9 $$; fi
    if grep -q lacks $word; then echo "$word:1: lacks"; exit 3; fi
    if grep -q whole $word; then case "$*" in *slim*) echo "$word:1: error: slim"; exit 1 ;; esac; fi ;;
esac; done
"""


class Builds(unittest.TestCase):
    def build(self, one, two, cuda=None):
        """`cuda`: a source that PyTorch's build file does not name. Returns how each of the two was compiled ("less", "binding", "whole", in this order), the
        link, and the refused sources."""
        with tempfile.TemporaryDirectory() as here:
            for name, text in (("build.ninja", BUILD % {"here": here}), ("compiler", COMPILER), ("one.cpp", one), ("two.cu", two)):
                with open(os.path.join(here, name), "w", encoding="utf-8") as file:
                    file.write(text)
            if cuda is not None:
                path = os.path.join(here, "three.cu")
                with open(path, "w", encoding="utf-8") as file:
                    file.write(cuda)
                ninja_file.cuda_jobs.append((["sh", "./compiler", "-c", path], path))
            refused = None
            try:
                ninja_file.build(here)
            except ninja_file.Refused as error:
                refused = error
            with open(os.path.join(here, "calls"), encoding="utf-8") as file:
                calls = file.read().splitlines()
        ways = {name: ["whole" if slim_headers.FOLDER not in call else "binding" if "KFORGE_BINDING" in call else "less" for call in calls if name in call] for name in ("one.cpp", "two.cu", "both.so")}
        return [ways["one.cpp"], ways["two.cu"], ways["both.so"]], refused

    def test_less_is_enough(self):
        self.assertEqual(self.build("x", "py x"), ([["less"], ["less"], ["whole"]], None))

    def test_what_needs_more_gets_all(self):
        self.assertEqual(self.build("whole", "x"), ([["less", "whole"], ["less"], ["whole"]], None))
        self.assertEqual(self.build("x", "whole"), ([["less"], ["less", "whole"], ["whole"]], None))

    def test_what_names_more_is_not_tried_with_less(self):
        self.assertEqual(self.build("torch::nn::Linear whole", "torch::fft::rfft(x)"), ([["whole"], ["whole"], ["whole"]], None))

    def test_where_functions_are_bound_headers_for_that_are_there(self):
        self.assertEqual(self.build("PYBIND11_MODULE(a, m)", "PYBIND11_MODULE(a, m)"), ([["less"], ["binding"], ["whole"]], None))
        self.assertEqual(self.build("x", "py::object whole"), ([["less"], ["binding", "whole"], ["whole"]], None))

    def test_what_is_wrong_is_told_as_pytorch_would(self):
        ways, refused = self.build("never whole", "x")
        self.assertEqual(ways, [["less", "whole"], ["less"], []])
        self.assertIn("one.cpp:1: error: never", str(refused))
        self.assertNotIn("slim", str(refused))
        self.assertFalse(refused.unsupported)

    def test_what_a_device_lacks_it_lacks_with_all(self):
        ways, refused = self.build("x", "never", cuda="lacks")
        self.assertEqual(ways, [["less"], ["less", "whole"], []])
        self.assertEqual(os.path.basename(refused.unsupported), "three.cu")
        self.assertIsNone(self.build("lacks", "x", cuda="x")[1].unsupported)

    def test_what_a_signal_ended_is_said_in_words(self):
        ways, refused = self.build("killed", "x")
        self.assertEqual(ways, [["less", "whole"], ["less"], []])
        self.assertIn("terminated with signal 9", str(refused))

    def test_only_signals_from_outside_have_words(self):
        def words(status, program="/bin/sh"):
            return ninja_file.words_of_a_kill([program], status)

        for status in (-9, 128 + 9, -15, 128 + 15):
            self.assertIn("terminated with signal %d\n" % (abs(status) % 128), words(status))
        for status in (0, 1, 4, 127, 128, -11, 128 + 11, -6):
            self.assertEqual(words(status), "")
        self.assertIn("signal 9", words(4, "/somewhere/kforge-cpucc"))
        self.assertEqual(words(1, "/somewhere/kforge-cpucc"), "")


if __name__ == "__main__":
    unittest.main()
