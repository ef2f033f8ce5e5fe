"""A local `kforge serve` that all processes of a user share.

Three files in a private folder belong to a server, NAME.lock, NAME.users and NAME.address:

- A process locks NAME.lock while it looks for the server or starts it.
- Each user of the server holds a shared lock on NAME.users. The kernel drops the lock when the
  process ends, also after kill -9.
- A keeper process owns the server. It holds an exclusive lock on NAME.address, and waits for an
  exclusive lock on NAME.users. It gets that lock when the last user is gone. Then it ends the
  server. The server ends with its keeper, too.

NAME.address has the address and a token, so that the server answers this user alone.

Run as a program, this file is the keeper.
"""
from __future__ import annotations

import ctypes
import fcntl
import hashlib
import json
import os
import re
import secrets
import select
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Dict, Optional, Sequence, Tuple

# Seconds for the start of a server, and for its end before it is killed
START = 120.0
END = 10.0


class ServerError(RuntimeError):
    """The local server could not be started."""


def runtime_folder() -> Path:
    """Returns the folder for locks and addresses. It belongs to the user alone."""
    base = os.environ.get("XDG_RUNTIME_DIR", "")
    if base.startswith("/") and os.path.isdir(base) and os.access(base, os.W_OK):
        folder = Path(base) / "kforge"
    else:
        folder = Path(tempfile.gettempdir()) / ("kforge-%d" % os.getuid())
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        status = os.lstat(folder)
    except OSError as error:
        raise ServerError("%s: no folder for locks: %s" % (folder, error)) from None
    private = stat.S_ISDIR(status.st_mode) and not status.st_mode & 0o077
    if not private or status.st_uid != os.getuid():
        raise ServerError("%s: the folder is not private. Delete it, or run: chmod 700" % folder)
    return folder


def _environment() -> Dict[str, str]:
    """Returns the server's environment."""
    environment = {k: v for k, v in os.environ.items() if k != "KFORGE_SERVER"}
    # Ray hides all GPUs from a worker without a GPU. A device that is named must be visible.
    if environment.get("CUDA_VISIBLE_DEVICES") == "" and "KFORGE_DEVICE" in environment:
        del environment["CUDA_VISIBLE_DEVICES"]
    return environment


def _open(path: str) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)


def _locked(path: str) -> int:
    """Opens and locks a file. Tries again if a keeper has deleted it meanwhile."""
    while True:
        file = _open(path)
        fcntl.flock(file, fcntl.LOCK_EX)
        try:
            if os.fstat(file).st_ino == os.stat(path).st_ino:
                return file
        except FileNotFoundError:
            pass
        os.close(file)


class LocalServer:
    """A user of the shared server with this command, this folder and these settings."""

    def __init__(self, command: Sequence[str]):
        program = shutil.which(command[0])
        if program is None:
            raise ServerError(
                "%s is not in PATH. Install kforge, or set KFORGE_SERVER to the address of a "
                "server" % command[0]
            )
        self.command = [program, *command[1:]]
        # The folder counts, because names of tasks are looked up in its tasks/.
        settings = {
            k: v
            for k, v in _environment().items()
            if k.startswith("KFORGE_") or k in ("CUDA_VISIBLE_DEVICES", "XDG_CONFIG_HOME")
        }
        key = json.dumps([self.command, os.getcwd(), settings], sort_keys=True)
        name = "serve-" + hashlib.sha256(key.encode()).hexdigest()[:16]
        self._base = str(runtime_folder() / name)
        self._users: Optional[int] = None
        self._busy = threading.Lock()

    def address(self) -> Tuple[str, str]:
        """Returns address and token of the running server. Starts one if necessary."""
        with self._busy:
            lock = _locked(self._base + ".lock")
            try:
                if self._users is None:
                    users = _open(self._base + ".users")
                    # Waits for the end of a server that has lost its last user.
                    fcntl.flock(users, fcntl.LOCK_SH)
                    self._users = users
                address, token = (self._running() or self._start()).split()
                return address, token
            finally:
                os.close(lock)

    def close(self) -> None:
        """Gives the server up."""
        with self._busy:
            if self._users is not None:
                os.close(self._users)
                self._users = None

    def _running(self) -> Optional[str]:
        """Returns the file's content, or None if no keeper holds its lock."""
        file = _open(self._base + ".address")
        try:
            until = time.monotonic() + START
            while time.monotonic() < until:
                try:
                    fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
                    return None
                except BlockingIOError:
                    found = os.pread(file, 4096, 0).decode()
                if found:
                    return found
                # A process that was killed has started this keeper. The server is not ready yet.
                time.sleep(0.05)
            return None
        finally:
            os.close(file)

    def _start(self) -> str:
        keeper = subprocess.Popen(
            [sys.executable, "-I", os.path.abspath(__file__), self._base, *self.command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=_environment(),
            start_new_session=True,
        )
        assert keeper.stdout is not None
        with keeper.stdout as pipe:
            keeper.wait()  # The keeper has put itself into the background.
            said = b""
            until = time.monotonic() + START + END
            while not said.endswith(b"\n"):
                ready, _, _ = select.select([pipe], [], [], max(0.0, until - time.monotonic()))
                part = os.read(pipe.fileno(), 4096) if ready else b""
                if not part:
                    break
                said += part
        if said.endswith(b"\n"):
            return said.decode().strip()
        try:
            log = Path(self._base + ".log").read_text(errors="replace").strip()
        except OSError:
            log = ""
        raise ServerError("%s did not start: %s" % (self.command[0], log[-500:] or "no message"))


def _address_in(log: Path) -> Optional[str]:
    """Returns the address that the server has printed."""
    found = re.search(r"^listening on (http://\S+)\n", log.read_text(errors="replace"), re.M)
    return found.group(1) if found else None


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(1, signal.SIGTERM, 0, 0, 0)  # PR_SET_PDEATHSIG


def keep(base: str, command: Sequence[str]) -> int:
    """Owns the server until its last user is gone."""
    log = Path(base + ".log")
    address = _open(base + ".address")
    fcntl.flock(address, fcntl.LOCK_EX)
    users = _open(base + ".users")
    token = secrets.token_hex(16)
    with open(_open(base + ".token"), "w") as file:
        file.write(token + "\n")
    with open(_open(base + ".log"), "wb") as output:
        output.truncate()
        server = subprocess.Popen(
            [*command, "--token", base + ".token"],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            preexec_fn=_die_with_parent,
        )
    found = None
    until = time.monotonic() + START
    while found is None and server.poll() is None and time.monotonic() < until:
        time.sleep(0.02)
        found = _address_in(log)

    def end() -> None:
        if server.poll() is None:
            server.terminate()
            try:
                server.wait(END)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()
        os.ftruncate(address, 0)

    if found is None:
        end()
        return 1
    content = ("%s %s\n" % (found, token)).encode()
    os.ftruncate(address, 0)
    os.pwrite(address, content, 0)
    os.write(1, content)
    os.close(1)

    while server.poll() is None:
        try:
            fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
            end()
            _clean_up(base)
            return 0
        except BlockingIOError:
            time.sleep(0.2)
    os.ftruncate(address, 0)
    return 0


def _clean_up(base: str) -> None:
    """Deletes the files, unless a process waits for a new server."""
    lock = _open(base + ".lock")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return
    for suffix in (".address", ".log", ".token", ".users", ".lock"):
        os.unlink(base + suffix)


if __name__ == "__main__":
    if os.fork() == 0:
        sys.exit(keep(sys.argv[1], sys.argv[2:]))
