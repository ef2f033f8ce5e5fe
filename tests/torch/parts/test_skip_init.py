"""Tests evaluator/torch/skip_init.py: which weights need no values, and which do."""
import unittest

import torch
import skip_init
from torch import nn

SIDE = 1024  # squared: what is large


class Kept(nn.Module):
    """Has all kinds of weights. The output depends on no weight."""

    def __init__(self):
        super().__init__()
        self.table = torch.randn(5)  # before anything is left out
        self.linear = nn.Linear(SIDE, SIDE)
        self.scale = nn.Parameter(torch.randn(7, 1))
        self.lstm = nn.GRU(SIDE, SIDE // 2, 2)
        self.attention = nn.MultiheadAttention(SIDE, 8)
        self.norm = nn.BatchNorm2d(3)
        self.embedding = nn.Embedding(SIDE, SIDE, padding_idx=0)
        nn.init.xavier_normal_(self.linear.weight)
        nn.init.zeros_(self.linear.bias)


def made(change, *bound_names):
    """Returns construct() of a Linear after `change` was applied to it."""

    def make():
        module = nn.Linear(SIDE, SIDE)
        change(module)
        return module

    return skip_init.construct(make, lambda module: [p for name, p in module.named_parameters() if not bound_names or name in bound_names])


class Unfilled(unittest.TestCase):
    def test_weights_that_nobody_looks_at(self):
        torch.manual_seed(42)
        module, left_out = skip_init.construct(Kept, lambda module: list(module.parameters()))
        self.assertIsInstance(module, Kept)
        self.assertGreaterEqual(len(left_out), 5)
        self.assertTrue(all(parameter.numel() >= SIDE * SIDE for parameter in left_out))
        torch.manual_seed(42)
        self.assertTrue(torch.equal(module.table, torch.randn(5)))
        for name, parameter in module.named_parameters():  # uninitialised memory may hold any value
            self.assertTrue(parameter.numel() >= SIDE * SIDE or bool(torch.isfinite(parameter).all()), name)

    def test_without_large_ones_all_is_as_ever(self):
        torch.manual_seed(42)
        module, left_out = skip_init.construct(lambda: nn.Linear(8, 8), lambda module: [])
        torch.manual_seed(42)
        self.assertTrue(torch.equal(module.weight, nn.Linear(8, 8).weight))
        self.assertEqual(len(left_out), 0)

    def test_numbers_that_count(self):
        def spectral(module):
            nn.utils.spectral_norm(module)

        def private_generator_is_not_the_seed_s(module):
            module.table = torch.empty(5).uniform_()

        def sets_a_part(module):
            module.table = torch.zeros(9)
            module.table[:3] = module.weight.detach()[0, :3]

        rows = {
            "a table behind it": lambda module: setattr(module, "table", torch.randn(7)),
            "one that is filled in place": private_generator_is_not_the_seed_s,
            "one that is computed": lambda module: setattr(module, "table", torch.randn(7) * 2),
            "one that is copied into": lambda module: setattr(module, "table", torch.zeros(7).copy_(torch.randn(7))),
            "one drawn where nobody sees it": lambda module: setattr(module, "table", nn.functional.dropout(torch.ones(99))),
            "a norm": lambda module: setattr(module, "size", module.weight.norm().item()),
            "a number": lambda module: setattr(module, "size", torch.randn(3).sum().item()),
            "numpy": lambda module: setattr(module, "size", module.weight.detach().numpy().sum()),
            "a copy": lambda module: setattr(module, "other", module.weight.detach().clone()),
            "a row": lambda module: setattr(module, "row", module.weight[0].detach()[:3].clone()),
            "rows by their numbers": lambda module: setattr(module, "rows", module.weight.detach()[torch.tensor([1, 2])]),
            "a part that is set": sets_a_part,
            "a row as it is": lambda module: setattr(module, "row", module.weight.detach()[0]),
            "a number in it": lambda module: setattr(module, "size", module.weight[0, 0].item()),
            "where a weight says": lambda module: setattr(module, "table", torch.zeros(9)[torch.randint(0, 9, (3,))]),
            "spectral norm": spectral,
            "trunc_normal_": lambda module: nn.init.trunc_normal_(module.weight),
            "another name for a weight": lambda module: setattr(module, "other", module.weight.detach()),
            "a buffer in a weight's memory": lambda module: module.register_buffer("other", module.weight.detach()),
            "one in a list": lambda module: setattr(module, "others", [{"of": module.weight.data.view(-1)}]),
            "a sparse one": lambda module: setattr(module, "table", torch.rand(3, 3).to_sparse()),
        }
        for what, change in rows.items():
            with self.subTest(what):
                self.assertEqual(made(change), (None, ()))

    def test_tensors_are_as_they_were(self):
        before = dict(vars(torch.Tensor))
        made(lambda module: None)
        made(lambda module: module.nobody_has_this)
        self.assertEqual(dict(vars(torch.Tensor)), before)

    def test_weights_that_are_not_bound(self):
        self.assertEqual(made(lambda module: None, "bias"), (None, ()))
        self.assertEqual(made(lambda module: None, "weight"), (None, ()))  # the bias is drawn after it
        self.assertIsNotNone(made(lambda module: None, "weight", "bias")[0])

    def test_only_floating_weights_are_left_out(self):
        def change(module):
            module.packed = nn.Parameter(torch.randint(-8, 8, (SIDE, SIDE), dtype=torch.int8), requires_grad=False)

        module, left_out = made(change)
        self.assertIsNotNone(module)
        self.assertEqual([id(p) for p in left_out], [id(module.weight)])

    def test_a_constructor_s_own_errors(self):
        def fails(module):
            raise ValueError("mine")

        self.assertEqual(made(fails), (None, ()))  # it fails again with all weights drawn, and that failure is reported

        def expects_trouble(module):
            try:
                module.size = module.weight.sum().item()
            except BaseException:
                module.size = 0

        self.assertEqual(made(expects_trouble), (None, ()))


if __name__ == "__main__":
    unittest.main()
