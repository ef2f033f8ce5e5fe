"""Chooses the translator of a bundle.

A *bundle* is what `kforge import` read of a problem: {"format", "folder", "files": {path: text}}.
A translator returns {"text": of the problem file, "doc", "solution": the name that a solution
defines, "notes"}. It runs in the sandbox, because some formats need the problem's own code. Faults
are load.LoadError: what is wrong, where, and what to do.
"""

import importlib
import json

import load

FORMATS = {
    "gpu-mode": "formats.gpu_mode",
    "kernelbench.com": "formats.kernelbench_com",
    "raw": "formats.raw_cuda",
}


def read(path):
    """Returns the translation of the bundle in a file."""
    with open(path, encoding="utf-8") as file:
        bundle = json.load(file)
    if bundle.get("format") not in FORMATS:
        raise load.LoadError("there is no format %s" % bundle.get("format"), path, "")
    return importlib.import_module(FORMATS[bundle["format"]]).translate(bundle)
