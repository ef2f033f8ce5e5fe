"""Checks that the samples in a section of docs/reference/datasets.md equal the program's output.

    doc_samples.py docs/reference/datasets.md SECTION FILE…

The FILEs are in the order of the section's code blocks, one for each block except those in sh. A
block in JSON must have the keys and types of FILE at all depths. "nan", "inf" and "-inf" stand for
numbers that JSON does not have (docs/reference/json.md). Of lists, the first element counts.
Every line of other blocks must be in FILE. Text after "…" is ignored.
"""
import json
import sys

path, section, *files = sys.argv[1:]
text = open(path, encoding="utf-8").read().split(f"\n## {section}\n")[1].split("\n## ")[0]
blocks = [b.split("\n", 1) for b in text.split("```")[1::2]]
blocks = [(language, body) for language, body in blocks if language not in ("sh", "python")]  # "py" is output
assert len(blocks) == len(files), f"{section}: {len(blocks)} samples, {len(files)} files"


def is_number(value):
    return type(value) in (int, float) or value in ("nan", "inf", "-inf")


def compare(shown, real, where):
    if isinstance(shown, dict) and isinstance(real, dict):
        assert list(shown) == list(real), f"{where}: {list(shown)}, and really {list(real)}"
        for key in shown:
            compare(shown[key], real[key], f"{where}.{key}")
    elif isinstance(shown, list) and isinstance(real, list):
        assert bool(shown) == bool(real), where
        if shown:
            compare(shown[0], real[0], f"{where}[0]")
    else:
        same = type(shown) is type(real) or (is_number(shown) and is_number(real))
        assert same, f"{where}: {shown!r}, and really {real!r}"


for (language, body), name in zip(blocks, files):
    real = open(name, encoding="utf-8").read()
    if language == "json":
        compare(json.loads(body), json.loads(real), f"{section}, {name}")
        continue
    lines = real.split("\n")
    for line in filter(None, body.split("\n")):
        start, cut, _ = line.partition("…")
        found = any(l.startswith(start) for l in lines) if cut else line in lines
        assert found, f"{section}: not in {name}: {line}"
