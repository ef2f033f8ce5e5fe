"""Writes a task of Harbor for a task of the server.

    kforge-harbor axpy tasks/axpy        then: harbor run -p tasks/axpy -a AGENT

The agent writes /app/candidate.cu. The verifier's own container asks the server in KFORGE_SERVER,
with KFORGE_TOKEN. After a fault of the machine the trial fails without a reward.
"""
import shutil
import sys
from pathlib import Path

import kforge_client

TOML = """schema_version = "1.3"
artifacts = ["/app/candidate.cu"]

[task]
name = "kforge/%s"

[verifier]
environment_mode = "separate"
timeout_sec = 1800

[verifier.env]
KFORGE_SERVER = "${KFORGE_SERVER}"
KFORGE_TOKEN = "${KFORGE_TOKEN:-}"
"""
TEST = """#!/bin/sh
export PYTHONPATH=/tests
exec python3 /tests/verify.py %s /app/candidate.cu /logs/verifier/reward.json
"""
VERIFY = """import json, sys, kforge_client
task, path, output = sys.argv[1:]
try:
    source = {"source": open(path, encoding="utf-8", errors="replace", newline="").read()}
except FileNotFoundError:
    source = {"reply": ""}
result = kforge_client.Client().judge(task, reward="kevin", patience=600, **source)
print(result.feedback())
rewards = {"reward": result.needed(), "correct": int(result.correct)}
if result.speedup:
    rewards["speedup"] = result.speedup[0]
open(output, "w").write(json.dumps(rewards))
"""


def write(name: str, folder: str, image: str = "python:3-slim") -> None:
    text = kforge_client.task(name)["prompt"] + "\n\nWrite the source to /app/candidate.cu.\n"
    files = {"task.toml": TOML % name, "instruction.md": text, "tests/test.sh": TEST % name,
             "tests/verify.py": VERIFY, "tests/Dockerfile": "FROM %s\nCOPY . /tests\n" % image,
             "environment/Dockerfile": "FROM %s\nWORKDIR /app\n" % image}
    for path, content in files.items():
        (Path(folder) / path).parent.mkdir(parents=True, exist_ok=True)
        (Path(folder) / path).write_text(content)
    shutil.copytree(Path(kforge_client.__file__).parent, Path(folder) / "tests/kforge_client",
                    ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True)


def main() -> None:
    write(*sys.argv[1:])
