"""Translates a folder of another project for `kforge import`: problems and solutions as JSON.

    {"problems": [{"name", "file", "text"} or {"name", "file", "fault": {"rule", "reason"}}],
     "solutions": [{"problem": index, "name", "file", "text", "claimed"}], "notes": [text]}

"text" is a Python file, "claimed" a speedup that its authors measured, or null. Or {"error": …} as
in load.py if the folder is not of the format.
"""
import argparse
import importlib
import json
import os
import sys

import load

# Format -> module with a function translate(path) that returns the answer.
FORMATS = {
    "sol-execbench": "flashinfer",
    "flashinfer-bench": "flashinfer",
}


class Fault(Exception):
    """Why one problem can't become a task."""

    def __init__(self, rule, reason):
        super().__init__(reason)
        self.rule, self.reason = rule, reason

    def as_json(self):
        return {"rule": self.rule, "reason": self.reason}


def main(arguments):
    parser = argparse.ArgumentParser(prog="translate")
    parser.add_argument("format", choices=sorted(FORMATS))
    parser.add_argument("path")
    parser.add_argument("--descriptor", type=int, default=-1)
    options = parser.parse_args(arguments)
    output = (
        sys.stdout
        if options.descriptor < 0
        else os.fdopen(options.descriptor, "w", encoding="utf-8")
    )
    try:
        module = importlib.import_module("formats." + FORMATS[options.format])
        result = module.translate(options.path, options.format)
    except load.LoadError as fault:
        result = fault.as_json()
    output.write(json.dumps(result) + "\n")
    output.flush()
    return 1 if "error" in result else 0
