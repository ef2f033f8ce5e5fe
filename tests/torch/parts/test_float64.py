"""Tests evaluator/torch/float64.py: the library for an oracle's convolutions."""
import unittest

import float64
from torch.backends import cudnn


class Machine:
    """Simulates a device with given seconds for a call with cuDNN and without, and a slower first
    call with it."""

    def __init__(self, with_cudnn, without, once=0.0):
        self.now, self.once, self.calls = 0.0, once, []
        self.seconds = {True: with_cudnn, False: without}

    def call(self):
        enabled = bool(cudnn.enabled)
        if enabled and self.once:
            self.now, self.once = self.now + self.once, 0
        if self.seconds[enabled] is None:
            raise RuntimeError("CUDA out of memory")
        self.now += self.seconds[enabled]
        self.calls.append(enabled)

    def prefers(self, text="nn.Conv1d"):
        before = cudnn.enabled
        try:
            return float64.prefers_cudnn(text, self.call, lambda: None, lambda: self.now)
        finally:
            cudnn.enabled = before


class Float64(unittest.TestCase):
    def test_the_faster_one(self):
        for with_cudnn, without, once, expected in (
            (1.1, 0.01, 0.3, False),
            (0.1, 0.01, 0.3, False),
            (0.1, 0.4, 0.3, True),
            (0.1, 0.11, 2.0, True),  # the first call does not count
            (0.03, 0.02, 0, False),
        ):
            with self.subTest((with_cudnn, without, once)):
                self.assertEqual(Machine(with_cudnn, without, once).prefers(), expected)

    def test_nothing_is_tried_where_nothing_is_to_be_gained(self):
        quick = Machine(0.005, 0.001)
        self.assertTrue(quick.prefers())
        self.assertEqual(quick.calls, [True])
        product = Machine(3, 1)
        self.assertTrue(product.prefers("torch.matmul(a, b)"))
        self.assertEqual(product.calls, [])

    def test_what_does_not_run_is_not_chosen(self):
        self.assertTrue(Machine(1.1, None).prefers("nn.LSTM"))

    def test_the_other_one_is_tried_once_where_it_is_far_slower(self):
        other = Machine(0.1, 300)
        self.assertTrue(other.prefers())
        self.assertEqual(other.calls, [True, False])

    def test_a_slow_one_is_not_called_again(self):
        slow = Machine(30, 0.01)
        self.assertFalse(slow.prefers())
        self.assertEqual(slow.calls, [True, False, False])


if __name__ == "__main__":
    unittest.main()
