"""Tests evaluator/torch/load.py and build.py: text that Python itself accepts."""

import unittest

import build
import load

TEXT = "\ufeffimport torch\r\nfrom torch.utils.cpp_extension import load_inline\r\nx = load_inline('a', '')\r\n"


class ByteOrderMark(unittest.TestCase):
    def test_is_skipped(self):
        self.assertEqual(len(load.parse(TEXT, "solution.py").body), 3)
        self.assertEqual(list(build.places(TEXT)), [(3, 3)])

    def test_elsewhere_is_an_error(self):
        with self.assertRaises(load.LoadError):
            load.parse("x = 1\n\ufeffy = 2\n", "solution.py")


if __name__ == "__main__":
    unittest.main()
