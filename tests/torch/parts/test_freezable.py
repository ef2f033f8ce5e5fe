"""Tests evaluator/torch/freezable.py: the time that it takes."""
import contextlib
import io
import json
import os
import unittest

import describe

PROBLEM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "kernelbench", "level1", "3_Linear.py")


def described(seconds):
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        describe.main([PROBLEM, "--seconds", str(seconds)])
    return json.loads(output.getvalue())


class Looking(unittest.TestCase):
    def test_it_has_an_eighth_of_the_time(self):
        self.assertTrue(described(800)["frozen"])
        told = described(1e-3)
        self.assertNotIn("frozen", told)
        self.assertIn("longer than 0.000125 s", told["not_frozen"])
        self.assertIn("--timeout", told["not_frozen"])


if __name__ == "__main__":
    unittest.main()
