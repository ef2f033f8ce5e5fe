#!/usr/bin/env python3
"""kforge mcp with the official clients of both eras, from PyPI in environments that later runs use again.
Usage: mcp_clients.py BIN FOLDER. Status 77: PyPI is out of reach."""
import os
import shutil
import subprocess
import sys
import tempfile
import venv

from mcp_session import Server, environment

VERSIONS = ("2.3.0", "1.30.0")
program = os.path.join(os.path.abspath(sys.argv[1]), "kforge")
here = os.path.dirname(os.path.abspath(__file__))
tasks = os.path.join(os.path.dirname(os.path.dirname(here)), "tasks")


def python_with(version):
    """The interpreter of an environment with this version of `mcp`, or None."""
    folder = os.path.join(os.path.abspath(sys.argv[2]), "mcp-" + version)
    python, done = os.path.join(folder, "bin", "python3"), os.path.join(folder, "done")
    if os.path.exists(done):
        return python
    venv.create(folder, with_pip=True, clear=True)
    install = subprocess.run([python, "-m", "pip", "install", "-q", "--retries", "1", "--timeout", "20", "mcp==" + version])
    if install.returncode != 0:
        return None
    open(done, "w", encoding="utf-8").close()
    return python


pythons = [python_with(version) for version in VERSIONS]
if None in pythons:
    print("skipped: PyPI is out of reach, so the official clients can't be installed")
    sys.exit(77)
work = tempfile.mkdtemp(prefix="kforge-mcp.")
try:
    shutil.copy(os.path.join(tasks, "axpy", "baseline.cu"), os.path.join(work, "good.cu"))
    with Server(program, work) as server:
        for python in pythons:
            subprocess.run([python, "-I", os.path.join(here, "mcp_client.py"), program, work, server.url + "/mcp"],
                           env=environment(work), cwd=work, check=True, timeout=600)
    assert server.status == 0, server.status
finally:
    shutil.rmtree(work)
