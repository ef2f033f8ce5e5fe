"""Tests evaluator/torch/parts.py: calls of an oracle in parts."""

import random
import unittest

import torch

import parts

F64 = torch.float64


class Module:
    """A module with limited memory: a call of more elements fails. Notes the first extents."""

    def __init__(self, forward, most=1 << 60):
        self.forward, self.most, self.extents, self.given_back = forward, most, [], 0
        self.parts, self.tries = None, 0
        self.spills = 0  # so many calls from now on use the host's memory

    def call(self, given):
        self.extents.append(given[0].shape[0])
        if self.parts:
            self.tries += self.parts.trying
        if sum(value.numel() for value in given if isinstance(value, torch.Tensor)) > self.most:
            raise RuntimeError("CUDA out of memory. Tried to allocate 12.00 GiB")
        made = self.forward(*[v.double() if torch.is_tensor(v) else v for v in given])
        return list(made) if isinstance(made, tuple) else [made]

    def give_back(self):
        self.given_back += 1

    def spilled(self):
        self.spills -= 1
        return self.spills >= 0


def outputs_like(module, given):
    return [torch.full(value.shape, -1.0, dtype=value.dtype) for value in module.call(given)]


def run(forward, given, part_bytes=1 << 40, most=1 << 60):
    """Returns the module and the extents of its calls, after it was found right."""
    module = Module(forward)
    outputs, expected = outputs_like(module, given), module.call(given)
    module.extents, module.most = [], most
    parts.Parts(torch, module.call, module, part_bytes).run(given, outputs)
    for out, value in zip(outputs, expected):
        assert torch.allclose(out, value, rtol=1e-12), "the results are wrong"
    return module


def norm(x):
    return x / x.abs().mean(dim=1, keepdim=True)


class Alone(unittest.TestCase):
    """Modules that treat every index of the batch alone."""

    def test_a_large_call_is_made_in_parts(self):
        x = torch.rand(64, 8)
        module = run(norm, [x], part_bytes=64 * 8 * 16 // 4)
        # three calls decide, and four parts follow
        self.assertEqual(module.extents, [3, 1, 2, 16, 16, 16, 16])
        self.assertEqual(run(norm, [x], part_bytes=64 * 8 * 16).extents, [64])

    def test_extents_that_the_parts_do_not_divide(self):
        self.assertEqual(
            run(norm, [torch.rand(65, 8)], part_bytes=65 * 8 * 4).extents[3:], [17, 17, 17, 14]
        )

    def test_where_memory_is_short_parts_get_smaller(self):
        module = run(norm, [torch.rand(64, 8)], most=20 * 8)
        self.assertEqual(module.extents, [64, 3, 1, 2, 32, 16, 16, 16, 16])
        self.assertGreaterEqual(module.given_back, 2)

    def test_the_size_is_kept(self):
        x, module = torch.rand(64, 8), Module(norm, 20 * 8)
        oracle, out = parts.Parts(torch, module.call, module), [torch.empty(64, 8, dtype=F64)]
        oracle.run([x], out)
        module.extents = []
        oracle.run([x], out)
        self.assertEqual(module.extents, [16, 16, 16, 16])

    def test_parts_get_smaller_where_the_device_has_too_little_memory(self):
        x, module = torch.rand(64, 8), Module(norm)
        oracle, out = parts.Parts(torch, module.call, module), [torch.empty(64, 8, dtype=F64)]
        module.parts = oracle
        module.spills = 2  # what was before does not count
        oracle.run([x], out)
        self.assertEqual(module.extents, [64, 3, 1, 2])
        module.extents = []
        oracle.run([x], out)
        self.assertEqual(module.extents, [32, 32])
        self.assertEqual(module.tries, 3)

    def test_several_inputs_and_outputs(self):
        a, b, shift = torch.rand(32, 4, 4), torch.rand(32, 4, 4), torch.rand(4)
        module = run(
            lambda a, b, s, n: (a @ b + s, a.argmax(dim=2), a.sum(dim=(1, 2)) * n),
            [a, b, shift, 3],
            part_bytes=4096,
        )
        self.assertGreater(len(module.extents), 5)

    def test_a_square_product_divides_its_first_factor(self):
        module = run(torch.matmul, [torch.rand(32, 32), torch.rand(32, 32)], part_bytes=32 * 32 * 8)
        self.assertGreater(len(module.extents), 5)

    def test_infinities(self):
        x = torch.rand(32, 4)
        x[0, 1] = float("inf")
        run(lambda x: x * 2, [x], part_bytes=1024)


class Together(unittest.TestCase):
    """Modules that have to see the whole batch."""

    def test_they_are_called_as_a_whole(self):
        x, weights = torch.rand(32, 4), torch.rand(32, 1)
        for forward in (
            lambda x: x / torch.linalg.norm(x),
            lambda x: torch.nn.functional.batch_norm(x, None, None, training=True),
            lambda x: x.cumsum(0),
            lambda x: x.flip(0),
            lambda x: x.roll(1, 0),
            lambda x: x.sum(),
            lambda x: x.sum(0),
            lambda x: x.mean(0, keepdim=True),
            lambda x: x * x.shape[0],
            lambda x: x.view(32, 4) * 2,
            lambda x: (x - weights).double(),
            lambda x: x.T.contiguous(),
            lambda x: (x, x.sum(1, keepdim=True)[:16]),
        ):
            with self.subTest(forward):
                self.assertEqual(run(forward, [x], part_bytes=512).extents[-1], 32)

    def test_too_little_memory_is_an_error(self):
        module = Module(lambda x: x / torch.linalg.norm(x), 20)
        with self.assertRaisesRegex(RuntimeError, "out of memory"):
            parts.Parts(torch, module.call, module).run(
                [torch.rand(32, 4)], [torch.empty(32, 4, dtype=F64)]
            )
        self.assertEqual(module.extents, [32, 3, 1])

    def test_parts_of_one_index_are_the_smallest(self):
        module = Module(norm, 3)
        with self.assertRaisesRegex(RuntimeError, "out of memory"):
            parts.Parts(torch, module.call, module).run(
                [torch.rand(8, 4)], [torch.empty(8, 4, dtype=F64)]
            )

    def test_other_errors_stay(self):
        def fails(x):
            raise RuntimeError("shapes do not match")

        module = Module(fails)
        with self.assertRaisesRegex(RuntimeError, "shapes do not match"):
            parts.Parts(torch, module.call, module).run(
                [torch.rand(8, 4)], [torch.empty(8, 4, dtype=F64)]
            )
        self.assertEqual(module.extents, [8])

    def test_results_that_the_task_does_not_have(self):
        for forward, words in (
            (lambda x: (x, x), "returns 2 tensors"),
            (lambda x: x[:, :2], "of shape"),
        ):
            module = Module(forward)
            with self.assertRaisesRegex(RuntimeError, words):
                parts.Parts(torch, module.call, module).run(
                    [torch.rand(8, 4)], [torch.empty(8, 4, dtype=F64)]
                )


class Counting(torch.nn.Module):
    """A module with state that its calls change, in all places where modules keep it."""

    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.zeros(1))
        self.register_buffer("seen", torch.zeros(1), persistent=False)
        self.below = torch.nn.Identity()
        self.below.count, self.below.history, self.below.last = 0, [], None

    def forward(self, x):
        self.calls += 1
        self.seen = self.seen + 1
        self.below.count += 1
        self.below.history.append(x.shape[0])
        self.below.last = torch.full((1,), float(x.shape[0]))
        return norm(x) * self.calls.double()

    def noted(self):
        last = None if self.below.last is None else self.below.last.item()
        return (self.calls.item(), self.seen.item(), self.below.count, self.below.history, last)


class State(unittest.TestCase):
    """Trial calls change nothing that the calls of a module depend on."""

    def calls(self, module, most, part_bytes=1 << 40):
        """Makes two calls, and returns the first extents of all calls."""
        called = Module(module, most)
        x, out = torch.rand(64, 8), [torch.empty(64, 8, dtype=F64)]
        oracle = parts.Parts(torch, called.call, called, part_bytes, module)
        for number in (1, 2):
            oracle.run([x], out)
            self.assertTrue(torch.allclose(out[0], norm(x.double()) * number, rtol=1e-12))
        return called.extents

    def test_a_module_that_counts_is_called_as_a_whole(self):
        module = Counting()
        self.assertEqual(self.calls(module, 1 << 60, 64 * 8 * 4), [3, 64, 64])
        self.assertEqual(module.noted(), (2, 2, 2, [64, 64], 64))

    def test_a_call_that_failed_leaves_no_state(self):
        module = Counting()
        called = Module(module, 1 << 60)

        def short_at_first(given):
            made = called.call(given)
            if len(called.extents) == 1:
                raise RuntimeError("CUDA out of memory. Tried to allocate 12.00 GiB")
            return made

        with self.assertRaisesRegex(RuntimeError, "out of memory"):
            parts.Parts(torch, short_at_first, called, 1 << 40, module).run(
                [torch.rand(64, 8)], [torch.empty(64, 8, dtype=F64)]
            )
        self.assertEqual(module.noted(), (0, 0, 0, [], None))

    def test_parameters_that_a_call_changes(self):
        module = torch.nn.Linear(1, 1)

        def forward(x):
            with torch.no_grad():
                module.weight.mul_(1)
            return norm(x)

        called = Module(forward)
        parts.Parts(torch, called.call, called, 512, module).run(
            [torch.rand(64, 8)], [torch.empty(64, 8, dtype=F64)]
        )
        self.assertEqual(called.extents, [3, 64])

    def test_random_numbers_are_drawn_as_in_one_call(self):
        x = torch.rand(64, 8)
        for forward in (
            lambda x: norm(x) + 0 * torch.rand(1),
            lambda x: norm(x) + 0 * random.random(),
            lambda x: torch.nn.functional.dropout(x, 0.5, training=True) * 0 + norm(x),
        ):
            with self.subTest(forward):
                called, out = Module(forward), [torch.empty(64, 8, dtype=F64)]
                torch.manual_seed(1), random.seed(1)
                forward(x.double())
                wanted = torch.rand(1).item(), random.random()
                torch.manual_seed(1), random.seed(1)
                parts.Parts(torch, called.call, called, 512).run([x], out)
                self.assertEqual((torch.rand(1).item(), random.random()), wanted)
                self.assertEqual(called.extents, [3, 64])

    def test_constant_state_allows_parts(self):
        module = torch.nn.BatchNorm1d(8).double().eval()
        module.register_buffer("nothing", torch.full((2,), float("nan")))
        called = Module(module)
        x, out = torch.rand(64, 8), [torch.empty(64, 8, dtype=F64)]
        with torch.no_grad():
            parts.Parts(torch, called.call, called, 64 * 8 * 4, module).run([x], out)
        self.assertGreater(len(called.extents), 5)


if __name__ == "__main__":
    unittest.main()
