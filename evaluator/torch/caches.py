"""The files that compilers leave in the folder for temporary files, as one byte string. It goes
from the dry run into the runners of the same solution.

    "kfc2", length of the head (8 bytes), the head as JSON, the contents of the files

The head has "top" (the folder of the files), "files" ([name, size, mode, modification time in ns];
a name that ends with "/" is a folder) and "commands" (commands.py). Foreign code ran where it was
written, so the reader checks every field.
"""
import json
import os
import stat
import struct
import tempfile
import time

MAGIC = b"kfc2"
LENGTH = struct.Struct("<Q")
MOST_FILES = 4096
MOST_BYTES = 40 << 20  # a runner has 64 MiB, rounded up to pages
FILE_BYTES = 16 << 20  # headers that were compiled ahead are of no use any more, and larger
NAME_BYTES = 1024
HEAD_BYTES = 8 << 20
SCRATCH = "kforge-scratch-"  # virtual_fs.py's
TICK_SECONDS = 0.004  # of the kernel's clock for files, where it ticks 250 times a second
MOST_TICK_SECONDS = 1


class Broken(ValueError):
    pass


# ---- packing --------------------------------------------------------------------------------------------------------------------------------


def _entries(top, without):
    """Returns (name, path, status) of files and folders. A link to a file below `top` is a file,
    such as a library without its version. Other entries are left out."""
    for folder, folders, names in os.walk(top):
        folders[:] = sorted(name for name in folders if not name.startswith(SCRATCH) and os.path.join(folder, name) != without)
        for name in folders + sorted(names):
            path = os.path.join(folder, name)
            try:
                status = os.lstat(path)
                if stat.S_ISLNK(status.st_mode):
                    if not os.path.realpath(path).startswith(os.path.realpath(top) + "/") or os.path.isdir(path):
                        continue
                    status = os.stat(path)
            except OSError:
                continue
            if stat.S_ISDIR(status.st_mode):
                yield os.path.relpath(path, top) + "/", path, status
            elif stat.S_ISREG(status.st_mode):
                yield os.path.relpath(path, top), path, status


def _is_name(name):
    parts = (name[:-1] if name.endswith("/") else name).split("/")
    return 0 < len(name) <= NAME_BYTES and "\0" not in name and all(part not in ("", ".", "..") for part in parts)


def pack(top, commands, without=None):
    """Returns (bytes, files, how many were left out so far). `without`: a folder that is not the
    compilers'."""
    files, contents, total, left_out = [], [], 0, 0
    for name, path, status in _entries(top, without):
        if len(files) >= MOST_FILES:
            left_out += 1
            break  # there may be millions
        try:
            name.encode("utf-8")
            content = b""
            if not name.endswith("/"):
                if status.st_size > min(FILE_BYTES, MOST_BYTES - total):
                    raise OSError
                with open(path, "rb") as file:
                    content = file.read(status.st_size)
        except (OSError, UnicodeError):
            left_out += 1
            continue
        files.append([name, len(content), stat.S_IMODE(status.st_mode) & 0o755, status.st_mtime_ns])
        contents.append(content)
        total += len(content)
    head = json.dumps({"top": top, "files": files, "commands": commands}).encode("utf-8")
    return b"".join([MAGIC, LENGTH.pack(len(head)), head] + contents), sum(not entry[0].endswith("/") for entry in files), left_out


# ---- unpacking -----------------------------------------------------------------------------------


def _head(data):
    """Returns (the head, where the contents begin)."""
    if len(data) < len(MAGIC) + LENGTH.size or data[: len(MAGIC)] != MAGIC:
        raise Broken("it begins otherwise")
    (length,) = LENGTH.unpack_from(data, len(MAGIC))
    begin = len(MAGIC) + LENGTH.size
    if length > min(HEAD_BYTES, len(data) - begin):
        raise Broken("its head is cut off")
    head = json.loads(data[begin : begin + length].decode("utf-8"))
    if not isinstance(head, dict) or not isinstance(head.get("files"), list) or not isinstance(head.get("commands"), dict) or not isinstance(head.get("top"), str):
        raise Broken("its head lacks something")
    return head, begin + length


def _moved(content, before, now):
    """Where there is no private /tmp each process has a folder of its own, with a name of the same length: compilers keep whole paths."""
    return content.replace(before.encode(), now.encode()) if before != now and len(before) == len(now) else content


def _write(path, mode, content):
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with open(os.open(path, flags, 0o600 | mode & 0o755), "wb") as file:
        file.write(content)


class _Times:
    """Gives files the times that they had, so that a program that compiles what is out of date finds it up to date again.

    Without a mount namespace the runner's filter denies utimensat (sandbox/seccomp.c). Files that are written in the order of
    their times then keep at least that order. Two files that are written in one tick of the kernel's clock get the same time,
    so the second one waits for the next tick."""

    def __init__(self):
        self.given = self.got = None  # of the file before: the time that it had, and the time that it has now
        self.waited = 0.0

    def before(self, modified, folder):
        """Waits, if need be, until a file that is written in `folder` gets a later time than the one before."""
        if self.got is None or modified <= self.given:
            return
        while self.waited < MOST_TICK_SECONDS:
            with tempfile.TemporaryFile(dir=folder) as probe:
                if os.fstat(probe.fileno()).st_mtime_ns > self.got:
                    return
            time.sleep(TICK_SECONDS)
            self.waited += TICK_SECONDS

    def after(self, modified, path):
        try:
            os.utime(path, ns=(modified, modified))
        except OverflowError:
            pass
        except OSError:
            self.given, self.got = modified, os.stat(path).st_mtime_ns


def _checked(head, room):
    """The head's entries, each with the place of its content."""
    if len(head["files"]) > MOST_FILES:
        raise Broken("it has too many files")
    at, entries = 0, []
    for name, size, mode, modified in head["files"]:
        numbers = all(isinstance(number, int) for number in (size, mode, modified))
        if not isinstance(name, str) or not numbers or not _is_name(name) or not 0 <= size <= room - at:
            raise Broken("one of its files can't be")
        entries.append((name, at, size, mode, modified))
        at += 0 if name.endswith("/") else size
    return entries


def unpack(data, top):
    """Makes the files below `top`, the oldest first, and returns the commands. Nothing that is there already is touched."""
    head, begin = _head(data)
    times = _Times()
    for name, at, size, mode, modified in sorted(_checked(head, len(data) - begin), key=lambda entry: entry[-1]):
        path = os.path.join(top, name)
        if name.endswith("/"):
            os.makedirs(path, exist_ok=True)
            continue
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if os.path.lexists(path):
            continue
        times.before(modified, os.path.dirname(path))
        _write(path, mode, _moved(data[begin + at : begin + at + size], head["top"], top))
        times.after(modified, path)
    return json.loads(_moved(json.dumps(head["commands"]).encode(), head["top"], top))
