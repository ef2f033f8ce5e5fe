"""Tests that each refusal of a problem names the fault, its place and a remedy."""

import ast
import pathlib
import tempfile
import types
import unittest

import describe
import remedies

SOURCES = pathlib.Path(remedies.__file__).parent
RULES = describe.OF_SMALLNESS + describe.OF_DRAWN_INPUTS + ["size.memory", "model.raises"]
OPTIONS = types.SimpleNamespace(class_name="Model", mode="train", max_elements=0, seconds=60)
PROBLEM = """import torch
class Model(torch.nn.Module):
    def forward(self, x):
        return %s
def get_inputs():
    return [%s]
"""


def rules_in(path):
    """Yields the rule of each Unfit(…) in a file."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Unfit":
            if isinstance(node.args[0], ast.Constant):
                yield node.args[0].value


class Remedies(unittest.TestCase):
    def test_each_rule_has_one(self):
        rules = {r for p in SOURCES.glob("**/*.py") for r in rules_in(p)} | set(RULES)
        self.assertGreater(len(rules), 20)
        self.assertEqual(rules - set(remedies.REMEDIES), set())
        self.assertTrue(all(todo for _, todo in remedies.REMEDIES.values()))

    def reason(self, result, inputs):
        with tempfile.TemporaryDirectory() as folder:
            path = folder + "/mine.py"
            pathlib.Path(path).write_text(PROBLEM % (result, inputs))
            return describe.run(path, {}, OPTIONS)["unfit"]["reason"]

    def test_messages(self):
        self.assertRegex(self.reason("x * 0", "torch.rand(8)"), "^mine.py: forward: .*; give inputs")
        self.assertRegex(
            self.reason("x + 1", "torch.arange(8) * 1.5"), "^mine.py: get_inputs: .*; draw each"
        )
        self.assertRegex(self.reason("x.no()", "torch.rand(8)"), "^mine.py:4: .*; correct it")

    def test_files_of_other_formats(self):
        with tempfile.NamedTemporaryFile("w", suffix=".json") as bundle:
            for form, place in (("raw", "driver.cpp: "), ("gpu-mode", "reference.py: ref_kernel: ")):
                bundle.seek(0)
                bundle.truncate()
                bundle.write('{"format": "%s"}' % form)
                bundle.flush()
                text = remedies.with_remedy("outputs.zero", "it is zero", bundle.name, True)
                self.assertTrue(text.startswith(place + "it is zero; "), text)


if __name__ == "__main__":
    unittest.main()
