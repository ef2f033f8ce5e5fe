"""Tests evaluator/torch/structure.py: nested values of get_inputs()."""

import copy
import unittest

import structure


class Structure(unittest.TestCase):
    def test_a_plain_list_has_none(self):
        self.assertEqual(structure.flatten([7, 2.5, True]), ([7, 2.5, True], None))
        self.assertEqual(structure.flatten((7, 8)), ([7, 8], None))
        self.assertEqual(structure.flatten([]), ([], None))

    def test_nested_values_come_back(self):
        for value in (
            [1, None, 2],
            [[1, (2, 3)], {"a": 4, "b": {"c": [5]}}, "mean", None],
            {"x": 1, "y": (2,), "mode": "sum"},
            [{}, [], (), 1],
            [{"tuple": 1, "dict": {"tuple": 2}}],
        ):
            leaves, made = structure.flatten(value)
            self.assertEqual(structure.rebuild(made, leaves), value)

    def test_names_are_distinct_words(self):
        def forward(x, pair, batch, *rest):
            pass

        made = structure.flatten([1, (2, 3), {"a-b": 4, "a_b": 5}, 6, {"1": 7}])[1]
        self.assertEqual(
            structure.names(made, forward),
            ["x", "pair_0", "pair_1", "batch_a_b", "batch_a_b_", "in3", "in4_1"],
        )
        self.assertEqual(
            structure.names(structure.flatten({"b": 1, "1": 2})[1], forward), ["b", "in_1"]
        )

    def test_an_adapted_module_can_be_copied(self):
        class Module:
            weight = 1

            def forward(self, pair, scale=2):
                return (pair[0] + pair[1]) * scale * self.weight

        module = structure.adapt(Module(), structure.flatten({"pair": [1, 2], "scale": 3})[1])
        other = copy.deepcopy(module)
        other.weight = 10
        self.assertEqual((module.forward(1, 2, 3), other.forward(1, 2, 3)), (9, 90))
        plain = Module()
        self.assertIs(type(structure.adapt(plain, None)), Module)


if __name__ == "__main__":
    unittest.main()
