"""Tests evaluator/torch/cpp_extension/extensions.py: how often an extension is compiled, with a compiler that
counts."""
import unittest

from cpp_extension import extensions

SOLUTION = """load_inline(name="one", cpp_sources="int one();")
"""


class Counting(extensions.Compiling):
    def __init__(self):
        self.records, self.compiled = [], []
        super().__init__(SOLUTION, "candidate.py", lambda *record: self.records.append(record))

    def compile(self, real, given):
        self.compiled.append(given["cpp_sources"])
        if "wrong" in given["cpp_sources"]:
            raise RuntimeError("main.cpp:1: error: wrong")
        return object()


def load_inline(name, cpp_sources, extra_cflags=None, verbose=False, build_directory=None):
    raise AssertionError("the compiler is not to be called")


class Repeats(unittest.TestCase):
    def setUp(self):
        self.compiling = Counting()
        self.call = self.compiling._replacement("load_inline", load_inline)

    def test_the_same_is_compiled_once(self):
        first = self.call("one", "int one();")
        self.assertIs(first, self.call("another name", "int one();", verbose=True))
        self.assertIsNot(first, self.call("one", "int one();", extra_cflags=["-O1"]))
        self.assertEqual(len(self.compiling.compiled), 2)

    def test_what_is_refused_is_refused_again(self):
        """A block of a network compiles its extension in its constructor and has a fallback if that
        fails: 18 times, at half a minute each."""
        said = []
        for name in ("one", "one", "other"):
            with self.assertRaises(extensions.BuildFailed) as raised:
                self.call(name, "wrong")
            said.append((str(raised.exception), raised.exception.where, raised.exception.what, raised.exception.unsupported))
        self.assertEqual(len(self.compiling.compiled), 1)
        self.assertEqual(len(set(said)), 1)
        self.assertEqual([record[0] for record in self.compiling.records], ["failed"])
        self.call("one", "int one();")
        self.assertEqual(len(self.compiling.compiled), 2)


if __name__ == "__main__":
    unittest.main()
