"""evaluator/torch/kforge_torch.py: each mode names a module that has a main."""
import importlib
import unittest

import kforge_torch


class Modes(unittest.TestCase):
    def test_each_mode_has_a_module(self):
        for mode, name in kforge_torch.MODES.items():
            with self.subTest(mode=mode):
                self.assertTrue(callable(importlib.import_module(name).main))


if __name__ == "__main__":
    unittest.main()
