"""Tests evaluator/torch/cuda_on_cpu.py: which CUDA an extension finds."""
import os
import sys
import unittest
from unittest import mock

import torch

import cuda_on_cpu


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


if __name__ == "__main__":
    unittest.main()
