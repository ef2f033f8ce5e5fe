"""Programs that a solution asks for an answer: `ptxas --version`, `g++ -v`.

A compiler that runs when it is called keeps its results in folders. Even with all results there, it
asks its programs for their versions. The dry run (dry_run.py), where programs may start, records
the answers. In a runner, where no program may start, the same question gets the recorded answer,
and the filter refuses any other. A command that writes files counts as a question, too, if it
always wrote the same: its files are there (caches.py).

Both parts run in the solution's own process, for its convenience. The solution may replace them.
"""
import errno
import hashlib
import inspect
import io
import json
import os
import subprocess

MOST = 512
OUTPUT_BYTES = 64 << 10
FILES = 4096  # the most files that are checked for each command

_signature = inspect.signature(subprocess.Popen.__init__)
PLAIN = (None, subprocess.PIPE, subprocess.STDOUT, subprocess.DEVNULL)


def question(arguments, named):
    """Returns (key, streams that are text) of a call of Popen. The key is None if the arguments do
    not identify the call."""
    given = _signature.bind(None, *arguments, **named).arguments
    streams = [given.get(name) for name in ("stdin", "stdout", "stderr")]
    text = bool(
        given.get("text")
        or given.get("universal_newlines")
        or given.get("encoding")
        or given.get("errors")
    )
    if streams[0] not in (None, subprocess.DEVNULL) or any(
        stream not in PLAIN for stream in streams
    ):
        return None, text
    asked = given["args"]
    words = (
        os.fsdecode(asked)
        if isinstance(asked, (str, bytes, os.PathLike))
        else [os.fsdecode(word) for word in asked]
    )
    folder = given.get("cwd")
    return (
        json.dumps(
            [words, bool(given.get("shell")), folder and os.fsdecode(folder), streams[1:], text]
        ),
        text,
    )


# ---- where programs may be started ---------------------------------------------------------------


class Record:
    """The questions and answers, by key. None for a question with two answers."""

    def __init__(self, top):
        self.top, self.answers = top, {}

    def files(self):
        found = {}
        for folder, _, names in os.walk(self.top):
            for name in names:
                path = os.path.join(folder, name)
                try:
                    status = os.lstat(path)
                except OSError:
                    continue
                found[path] = (status.st_size, status.st_mtime_ns, status.st_ino)
                if len(found) >= FILES:
                    return found
        return found

    def written_since(self, before):
        """Returns a hash of the names and contents of files that are new or changed."""
        total = hashlib.sha256()
        for path, status in sorted(self.files().items()):
            if before.get(path) != status and os.path.isfile(path):
                with open(path, "rb") as file:
                    total.update(os.fsencode(path) + b"\0" + hashlib.sha256(file.read()).digest())
        return total.hexdigest()

    def add(self, key, answer):
        if key in self.answers:
            self.answers[key] = answer if self.answers[key] == answer else None
        elif len(self.answers) < MOST:
            self.answers[key] = answer

    def as_json(self):
        return {key: answer for key, answer in self.answers.items() if answer is not None}


class Recording(subprocess.Popen):
    record = None

    def __init__(self, *arguments, **named):
        try:
            self.kforge_key = question(arguments, named)[0]
        except Exception:
            self.kforge_key = None
        self.kforge_before = self.record.files() if self.kforge_key else {}
        try:
            super().__init__(*arguments, **named)
        except FileNotFoundError:
            if self.kforge_key:
                self.record.add(self.kforge_key, {"missing": True})
            raise

    def kforge_note(self, *outputs):
        if not self.kforge_key or self.returncode is None:
            return
        key, self.kforge_key = self.kforge_key, None
        said = [
            output.decode("latin-1") if isinstance(output, bytes) else output for output in outputs
        ]
        if sum(len(output or "") for output in said) <= OUTPUT_BYTES:
            answer = {
                "code": self.returncode,
                "said": said,
                "written": self.record.written_since(self.kforge_before),
            }
            self.record.add(key, answer)

    def communicate(self, *arguments, **named):
        outputs = super().communicate(*arguments, **named)
        self.kforge_note(*outputs)
        return outputs

    def wait(self, *arguments, **named):
        code = super().wait(*arguments, **named)
        if self.stdout is None and self.stderr is None:
            self.kforge_note(None, None)
        return code


def record(top):
    """Records from now on. Returns the Record."""
    Recording.record = Record(top)
    subprocess.Popen = Recording
    return Recording.record


# ---- where none may ------------------------------------------------------------------------------


class Answering(subprocess.Popen):
    answers = {}

    def __init__(self, *arguments, **named):
        try:
            key, text = question(arguments, named)
        except Exception:
            key, text = None, False
        self.kforge_said = None
        answer = self.answers.get(key)
        if answer is None:
            super().__init__(*arguments, **named)
            return
        self._child_created = False  # for the destructor of Popen
        self.args = arguments[0] if arguments else named["args"]
        if answer.get("missing"):
            name = self.args if isinstance(self.args, (str, bytes, os.PathLike)) else self.args[0]
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)
        self.kforge_said = [
            output if output is None or text else output.encode("latin-1")
            for output in answer["said"]
        ]
        self.returncode, self.pid, self.stdin = answer["code"], 0, None
        make = io.StringIO if text else io.BytesIO
        self.stdout, self.stderr = (
            None if output is None else make(output) for output in self.kforge_said
        )

    def communicate(self, input=None, timeout=None):
        return (
            super().communicate(input, timeout)
            if self.kforge_said is None
            else tuple(self.kforge_said)
        )

    def poll(self):
        return super().poll() if self.kforge_said is None else self.returncode

    def wait(self, timeout=None):
        return super().wait(timeout) if self.kforge_said is None else self.returncode


def answer(answers):
    """Answers from now on, from the result of Record.as_json."""
    if answers:
        Answering.answers = answers
        subprocess.Popen = Answering
