"""python/kforge_harbor.py: its folder in Harbor's own loader and verifier, without Docker.

The verifier's commands run in a folder that stands for the container, as root of a user namespace.
"""
import asyncio
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
from types import SimpleNamespace

from adapter_servers import each, versions

import kforge_client
import kforge_harbor
from harbor.models.task.config import TaskOS
from harbor.models.task.task import Task
from harbor.models.task.verifier_mode import resolve_verifier_environment_definition
from harbor.models.trial.paths import TrialPaths
from harbor.verifier.verifier import RewardFileNotFoundError, Verifier

SYSTEM = ("usr", "bin", "lib", "lib64", "etc")
ENTER = """
set -e
cd "$1"
for name in %s proc dev; do mkdir -p $name; mount --rbind /$name $name; done
exec chroot . /bin/sh -c "$2"
""" % " ".join(name for name in SYSTEM if pathlib.Path("/" + name).exists())


class Container:
    """The part of Harbor's environment that the verifier uses."""

    os = TaskOS.LINUX

    def __init__(self, root):
        self.root = root

    def is_path_mounted(self, *_):
        return True  # /logs/verifier is the trial's folder.

    async def exec(self, command, env=None, user=None, **_):
        words = ["unshare", "-rm", "bash", "-c", ENTER, "bash", str(self.root), command]
        path = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
        done = subprocess.run(words, env={**path, **(env or {})}, text=True, capture_output=True)
        return SimpleNamespace(return_code=done.returncode, stdout=done.stdout, stderr=done.stderr)


def trial(folder, source):
    """Verifies what an agent would have written. Returns Harbor's rewards."""
    task = Task(folder)
    definition = resolve_verifier_environment_definition(task.config, task.paths)
    assert definition.bundled_tests and definition.directory == task.paths.tests_dir
    with tempfile.TemporaryDirectory() as root:
        root = pathlib.Path(root)
        # As its Dockerfile says, the image has the tests. Harbor brings the artifacts.
        shutil.copytree(task.paths.tests_dir, root / "tests")
        assert task.config.artifacts == ["/app/candidate.cu"], task.config.artifacts
        (root / "app").mkdir()
        if source is not None:
            (root / "app/candidate.cu").write_text(source)
        paths = TrialPaths(root)
        (root / "logs").mkdir()
        paths.verifier_dir.mkdir()
        (root / "logs/verifier").symlink_to("../verifier")
        verifier = Verifier(task, paths, Container(root), skip_tests_upload=True)
        try:
            return asyncio.run(verifier.verify()).rewards
        finally:
            output = paths.test_stdout_path
            print(output.read_text() if output.exists() else "the test printed nothing")


def folder(policy):
    client = kforge_client.default_client()
    os.environ["KFORGE_SERVER"], os.environ["KFORGE_TOKEN"] = client.address(), client._token or ""
    with tempfile.TemporaryDirectory() as made:
        kforge_harbor.write("axpy", made)
        kforge_harbor.write("axpy", made)  # over an old one
        task = Task(made)
        assert task.name == "kforge/axpy" and "candidate.cu" in task.instruction, task.instruction
        assert "axpy" in task.instruction and Task.is_valid_dir(made)
        verify = pathlib.Path(made) / "tests/verify.py"
        text = verify.read_text()
        assert 'reward="kevin", patience=600' in text
        verify.write_text(text.replace("patience=600", 'mode="check", patience=1.5'))
        good = policy.source if policy.real else policy.good
        rewards = trial(made, good)
        assert rewards["reward"] >= 0.3 and rewards["correct"] == 1, rewards
        rewards = trial(made, "int x = ;\n" if policy.real else policy.broken)
        assert rewards == {"reward": 0.0, "correct": 0}, rewards
        assert trial(made, None) == {"reward": 0.0, "correct": 0}
        if not policy.real:
            try:
                raise SystemExit("a fault has the reward %s" % trial(made, policy.fault))
            except RewardFileNotFoundError:
                pass


if subprocess.run(["unshare", "-rm", "true"], stderr=subprocess.DEVNULL).returncode:
    print("skipped: no user namespaces")
    sys.exit(77)
each(folder)
versions("harbor")
