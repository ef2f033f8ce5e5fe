"""Each command with tables, on pseudo terminals of 40, 80 and 160 columns and in a pipe: no line is
too long. Also --quiet, and the words at the first Ctrl-C.

python3 widths.py BIN
"""
import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unicodedata

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
BIN = os.path.realpath(sys.argv[1])
PROGRAM = os.path.join(BIN, "kforge")
FAKE = os.path.join(BIN, "..", "tests", "fake_worker")
SEQUENCES = re.compile("\x1b\\[[0-9;]*[a-zA-Z]")
# In a pipe, lines of prose are not broken.
TABLES_ONLY = ("list", "scan", "store", "bench")
failures = []


def environment(folder, **more):
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("KFORGE_", "XDG_"))}
    kept.pop("COLUMNS", None)
    kept.update(HOME=folder, KFORGE_CONFIG="none", KFORGE_STORE=os.path.join(folder, "kforge.db"),
                FAKE_LOG=os.path.join(folder, "jobs"), PATH=BIN + ":" + kept["PATH"], **more)
    return kept


def on_terminal(words, columns, env, folder, interrupt_at=None):
    """Returns the output on a terminal of that width. Sends Ctrl-C once `interrupt_at` is shown."""
    child, fd = pty.fork()
    if child == 0:
        os.chdir(folder)
        while not os.path.exists(os.path.join(folder, "sized")):
            time.sleep(0.01)
        os.execve(PROGRAM, ["kforge"] + words, env)
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    open(os.path.join(folder, "sized"), "w").close()
    data = b""
    while True:
        try:
            part = os.read(fd, 65536)
        except OSError:
            break
        if not part:
            break
        data += part
        if interrupt_at and interrupt_at in data:
            os.write(fd, b"\x03")
            interrupt_at = None
    os.waitpid(child, 0)
    os.close(fd)
    os.remove(os.path.join(folder, "sized"))
    return data.decode("utf-8", "replace")


def width_of(text):
    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in text)
    return len(text) + wide - sum(unicodedata.combining(c) != 0 for c in text)


def check_lines(text, columns, where):
    # the last form of a line that is drawn again
    text = re.sub("[^\n]*\r\x1b\\[K", "", text)
    for line in SEQUENCES.sub("", text).replace("\r", "").split("\n"):
        # a word that is longer than the line can't be broken
        if width_of(line) > columns and " " in line.strip():
            words = max(len(w) for w in line.split())
            if words + 20 <= columns or words < columns // 2:
                failures.append("%s: %d of %d columns: %r" % (where, width_of(line), columns, line))


def check_rows(text, where):
    lines = [line for line in SEQUENCES.sub("", text).replace("\r", "").split("\n") if line]
    if len(lines) != 3 or not re.search(r"axpy +finished +\d+ of \d+ +[\d.]+x +\[", lines[1]) \
            or not lines[2].startswith("device  "):
        failures.append("%s: not one line a run: %r" % (where, lines))


def main():
    with tempfile.TemporaryDirectory() as folder:
        env = environment(folder)
        task = os.path.join(ROOT, "tasks", "axpy")

        def piped(*words, **more):
            return subprocess.run([PROGRAM] + list(words), cwd=folder, env=dict(env, **more),
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, encoding="utf-8")

        run = ["optimize", task, "--workers", FAKE, "--candidates", "5",
               "--model", "replay:%s/tests/replay/axpy.jsonl" % ROOT]
        made = piped(*run, "-q", "--output", "best.cu")
        if made.returncode or made.stderr or not re.match(r"^best .*\n$", made.stdout):
            failures.append("optimize -q: %r, %r" % (made.stdout, made.stderr))
        one = piped("eval", task, "best.cu", "--workers", FAKE, "-q")
        if one.returncode or one.stderr or not re.match(r"^best.cu: correct.*\n$", one.stdout):
            failures.append("eval -q: %r, %r" % (one.stdout, one.stderr))
        hostile = os.path.join(ROOT, "tests", "hostile", "gemm", "loads_a_library.cu")
        for words in (["list"], ["list", "--tasks"], ["show"], ["show", "c1"], ["show", "--tree"],
                      ["show", "c2", "--samples"], ["task", "show", task], ["store", "stats"],
                      ["scan", hostile, "--no-compile"], ["bench", "report"],
                      ["eval", task, "c1", "c2", "--workers", FAKE, "--no-keep"]):
            where = "kforge " + " ".join(words)
            if words[0] in TABLES_ONLY:
                whole = piped(*words).stdout
                if "\u2026" in whole.replace("\u2026 and older ones", ""):
                    failures.append("%s: cut in a pipe: %s" % (where, whole))
                check_lines(piped(*words, COLUMNS="60").stdout, 60, where + " with COLUMNS=60")
            # A row of runs takes one line of 80 columns.
            if words == ["list"]:
                check_rows(on_terminal(words, 80, env, folder), where)
            for columns in (40, 80, 160):
                check_lines(on_terminal(words, columns, env, folder), columns, where)
        busy = environment(folder, FAKE_SLEEP="0.3")
        slow = on_terminal(run[:4] + ["--candidates", "50"], 80, busy, folder, b" judged")
        if "Ctrl-C again stops at once" not in slow:
            failures.append("Ctrl-C: %r" % slow[-500:])
        # A line that is drawn again must not be broken, or its first part stays on the screen.
        several = ["bench", os.path.join(ROOT, "tasks"), "--only", "row_softmax", "--only", "transpose",
                   "--workers", FAKE + "*2", "--candidates", "4"]
        for words in (run[:4] + ["--anew", "--candidates", "8"], several):
            lines = re.findall("\x1b\\[K([^\r\n\x1b]+)(?=\r\x1b)", on_terminal(words, 40, busy, folder))
            wide = [line for line in lines if width_of(line) > 39]
            if wide or not lines:
                failures.append("kforge %s: drawn again on 40 columns: %r" % (words[0], (wide or lines)[:3]))
    for line in failures:
        print(line)
    sys.exit(1 if failures else 0)


main()
