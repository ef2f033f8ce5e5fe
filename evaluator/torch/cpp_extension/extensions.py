"""Extensions that a solution compiles: replaces load and load_inline of torch.utils.cpp_extension.

A runner starts no programs, so a solution is executed twice. The first time is in the build jail
(build.py). There each call compiles with PyTorch's own code, and its result leaves the jail: a
library, or the compiler's messages. The second time is in the runner, where the same call finds the
library and only loads it. A hash of the call's sources, functions and flags identifies it. Names
and folders do not count, because solutions make names up (a time, a random number). So the library
is loaded under the name that it was built with.

A solution may replace all of this, in the jail and in the runner. It can harm only itself: files
that leave the jail count only as the solution's own binary, and a library in the runner runs behind
the solution's filters.
"""
import contextlib
import functools
import glob
import hashlib
import importlib.machinery
import importlib.util
import inspect
import json
import os
import re
import sys
import tempfile
import threading

from cpp_extension import ninja_file
import load
import virtual_fs

MENTION = "cpp_extension"  # a solution without this word compiles nothing
NO_PART = "name build_directory verbose keep_intermediates extra_include_paths use_pch".split()
HEADERS = (".h", ".hh", ".hpp", ".hxx", ".cuh", ".inc", ".inl", ".ipp", ".tpp")
SOURCES = ("cpp_sources", "cuda_sources", "sycl_sources")
MESSAGE_BYTES = 64 << 10


class BuildFailed(RuntimeError):
    """The compiler failed. PyTorch raises a RuntimeError, too. `where` and `what` refer to the
    solution's own text as far as possible."""

    # Of a source that needs something that the CPU device lacks: the text by which the judge
    # compiles it again (cuda_on_cpu.describe).
    unsupported = None

    def __init__(self, text, where="", what=""):
        super().__init__(text)
        self.where, self.what = where, what

    def again(self):
        other = BuildFailed(str(self), self.where, self.what)
        other.unsupported = self.unsupported
        return other


# ---- what a call asks for ------------------------------------------------------------------------


def as_list(value):
    return [value] if isinstance(value, (str, os.PathLike)) else list(value or [])


def read_sources(paths):
    """Returns [(extension, text)] of load's files."""
    texts = []
    for path in paths:
        with open(os.fspath(path), encoding="utf-8", errors="replace") as file:
            texts.append((os.path.splitext(os.fspath(path))[1], file.read()))
    return texts


def read_headers(folders):
    """Returns what the solution's own folders of headers hold: those below the folder for
    temporary files. It can change no other."""
    texts, own = [], os.path.realpath(tempfile.gettempdir())
    for number, folder in enumerate(folders):
        folder = os.path.realpath(virtual_fs.place(os.fspath(folder)))
        if os.path.commonpath([own, folder]) != own:
            continue
        for place, below, names in os.walk(folder):
            below[:] = sorted(name for name in below if not name.startswith("kforge-"))
            for name in sorted(names):
                if name.endswith(HEADERS):
                    path = os.path.join(place, name)
                    texts.append([number, os.path.relpath(path, folder), read_sources([path])])
    return texts


def key_of(kind, given):
    """Returns the hash that identifies a call. `given` are its arguments by name."""
    plain = {}
    for name, value in given.items():
        if name in NO_PART or value is None:
            continue
        if name == "sources":
            value = read_sources(as_list(value))
        elif name == "functions":
            value = sorted(value.items()) if isinstance(value, dict) else as_list(value)
        elif not isinstance(value, bool):
            value = as_list(value)
        if value != []:
            plain[name] = value
    headers = read_headers(as_list(given.get("extra_include_paths")))
    if headers:
        plain["headers"] = headers
    text = json.dumps([kind, plain], sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def plain_name(name):
    """Returns a name that is valid in a macro and as a file name."""
    cleaned = re.sub(r"[^A-Za-z0-9_]", "_", str(name))[:60]
    return cleaned if cleaned[:1].isalpha() else "extension_" + cleaned[:40]


def caller_line(file_name):
    """Returns the innermost line of the solution that is being executed; None for a call from
    elsewhere."""
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_filename == file_name:
            return frame.f_lineno
        frame = frame.f_back
    return None


# ---- what the compiler says ----------------------------------------------------------------------

COMPLAINT = re.compile(
    r"^(?P<file>[^\s:()][^:()\n]*?)(?::(?P<line>\d+)(?::\d+)?|\((?P<other>\d+)\)): (?:(?:fatal )?error:? |(?=unsupported on ))(?P<what>.*)$",
    re.M,
)
LINKER = re.compile(
    r"^.*(undefined reference to .*|multiple definition of .*|cannot find -l.*)$", re.M
)


def line_in_solution(solution, given, file_text, number):
    """Returns the line of the solution for line `number` of a file that was made of the call's
    strings; None if unknown."""
    for source in [text for name in SOURCES for text in as_list(given.get(name))] + [file_text]:
        there, here = file_text.find(source), solution.find(source)
        if there < 0 or here < 0 or not source.strip():
            continue
        first = file_text.count("\n", 0, there) + 1
        if first <= number <= first + source.count("\n"):
            return solution.count("\n", 0, here) + 1 + number - first
    lines = file_text.split("\n")
    wanted = lines[number - 1].strip() if 0 < number <= len(lines) else ""
    found = [
        i for i, line in enumerate(solution.split("\n"), 1) if wanted and line.strip() == wanted
    ]
    return found[0] if len(found) == 1 else None


def place_of_complaint(text, given, folder, solution, solution_name, call_line):
    """Returns ("candidate.py:31", "'foo' was not declared") for a compiler's output."""
    called = "%s:%d" % (solution_name, call_line) if call_line else solution_name
    found = COMPLAINT.search(text)
    if found is None:
        found = LINKER.search(text)
        return called, (
            found.group(1) if found else next(iter(text.strip().split("\n")), "it does not compile")
        )
    number, path = int(found.group("line") or found.group("other")), os.path.join(
        folder, found.group("file")
    )
    line = None
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            line = line_in_solution(solution, given, file.read(), number)
    except OSError:
        pass
    if line:
        return "%s:%d" % (solution_name, line), found.group("what")
    return called, "%s (%s:%d)" % (found.group("what"), os.path.basename(path), number)


# ---- the two stand-ins ---------------------------------------------------------------------------


class Extensions:
    """Replaces load and load_inline. `perform(kind, real, given)` differs between jail and runner.
    """

    def __init__(self, solution, solution_name):
        self.solution, self.solution_name = solution, solution_name
        self.lines = set()  # lines of the solution with a call
        self.known = {}  # key -> module
        self.lock = threading.RLock()

    def install(self):
        try:
            import torch.utils.cpp_extension as machinery
        except Exception:
            return  # The solution's own import reports why.
        for kind in ("load", "load_inline"):
            setattr(machinery, kind, self._replacement(kind, getattr(machinery, kind)))
        machinery.is_ninja_available = lambda: True
        machinery.verify_ninja_availability = lambda: None
        machinery._run_ninja_build = ninja_file.build

    def _replacement(self, kind, real):
        signature = inspect.signature(real)

        @functools.wraps(real)
        def replacement(*arguments, **named):
            given = dict(signature.bind(*arguments, **named).arguments)
            line = caller_line(self.solution_name)
            with self.lock:
                self.lines.add(line)
                key = key_of(kind, given)
                if key not in self.known:
                    self.known[key] = self.perform(kind, real, given, key, line)
                return self.known[key]

        return replacement


class Compiling(Extensions):
    """The part of the build jail. `put(kind, key, name, content)` lets a record leave it."""

    def __init__(self, solution, solution_name, put):
        super().__init__(solution, solution_name)
        self.put = put
        self.busy = False  # a compiler runs
        self.refused = {}  # Key -> the exception, so that a repeated call fails at once.
        self.for_gpu = "CUDA_HOME" in os.environ  # as the judge of a GPU sets it

    def perform(self, kind, real, given, key, line):
        if key in self.refused:
            raise self.refused[key].again()
        given = dict(
            given,
            verbose=False,
            build_directory=tempfile.mkdtemp(prefix="kforge-extension-"),
            name=plain_name(given["name"]),
        )
        for name, value in given.items():  # PyTorch puts lines of its own into the caller's lists
            if isinstance(value, (list, tuple)):
                given[name] = list(value)
        # Compilers know nothing of virtual_fs.py's folders.
        for name in ("sources", "extra_include_paths"):
            if given.get(name):
                given[name] = [virtual_fs.place(os.fspath(path)) for path in as_list(given[name])]
        folder = given["build_directory"]
        self.busy, ninja_file.cuda_jobs[:] = True, []
        try:
            if given.get("is_standalone"):
                raise RuntimeError("is_standalone makes a program, and a solution starts none")
            module = self.compile(real, dict(given))
            for path in glob.glob(os.path.join(glob.escape(folder), "*.so")):
                with open(path, "rb") as file:
                    self.put(
                        "library", key, os.path.splitext(os.path.basename(path))[0], file.read()
                    )
            return module
        except Exception as error:
            text = str(error)[-MESSAGE_BYTES:] or type(error).__name__
            where, what = place_of_complaint(
                text, given, folder, self.solution, self.solution_name, line
            )
            self.put("failed", key, given["name"], text.encode("utf-8", "replace"))
            failure = BuildFailed(text, where, "%s; extension %s" % (what, given["name"]))
            source = getattr(error, "unsupported", None)
            if source:
                from cpp_extension import cuda_on_cpu

                failure.unsupported = cuda_on_cpu.describe(source)
            self.refused[key] = failure.again()  # without what a traceback holds
            raise failure from error
        finally:
            self.busy = False

    def compile(self, real, given):
        cuda = given.get("with_cuda") or given.get("cuda_sources") or any(
            os.fspath(path).endswith((".cu", ".cuh")) for path in as_list(given.get("sources"))
        )
        if cuda and not self.for_gpu:
            from cpp_extension import cuda_on_cpu

            given = cuda_on_cpu.without_cuda(given, as_list)
            with cuda_on_cpu.own_runtime_first():
                return real(**given)
        return real(**given)


class Loading(Extensions):
    """The part of a runner, after everything was compiled. `folder` holds KEY-NAME.so and
    KEY.failed."""

    def __init__(self, solution, solution_name, folder):
        super().__init__(solution, solution_name)
        self.folder = folder

    def perform(self, kind, real, given, key, line):
        failed = os.path.join(self.folder, key + ".failed")
        if os.path.exists(failed):
            with open(failed, encoding="utf-8", errors="replace") as file:
                raise RuntimeError(file.read())
        found = glob.glob(os.path.join(glob.escape(self.folder), key + "-*.so"))
        if not found:
            raise load.LoadError(
                "extension %s was not compiled in the build phase" % plain_name(given.get("name")),
                "%s:%d" % (self.solution_name, line) if line else self.solution_name,
                "sources, functions and flags have to be the same whenever the file is executed, and forward is tried only where that is quick",
            )
        from cpp_extension import cuda_on_cpu
        import torch

        on_gpu, name = (
            torch.cuda.is_available(),
            os.path.basename(found[0])[len(key) + 1 : -len(".so")],
        )
        if given.get("is_python_module", True):
            with contextlib.nullcontext() if on_gpu else cuda_on_cpu.own_runtime_first():
                return self._import(found[0], name)
        if not on_gpu:
            cuda_on_cpu.load_library(found[0])
        torch.ops.load_library(found[0])
        return None

    @staticmethod
    def _import(path, name):
        spec = importlib.util.spec_from_file_location(
            name, path, loader=importlib.machinery.ExtensionFileLoader(name, path)
        )
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module


def serve(solution, solution_name, folder):
    """Installs the runner's part. The solution's extensions are in `folder`."""
    if MENTION not in solution:
        return
    Loading(solution, solution_name, folder).install()
