"""Folders for a solution that cannot make any.

Behind the second filter a runner cannot create or remove files (sandbox/lockdown.c). But solutions
that compile from files make a folder first. So some folders are made before the filter is
installed, and mkdir hands them out. Opening, importing or loading a path below the requested name
leads into the handed-out folder. Removing does nothing, since everything goes with the runner. Only
the solution's own interpreter is changed.
"""
import _io
import builtins
import ctypes
import importlib.util
import io
import os
import sys
import tempfile
import tokenize

FOLDERS = 16

_free = []
_aliases = {}  # requested folder -> real folder


def prepare():
    """Makes folders before the filter. Without a writable folder there are no folders."""
    try:
        top = tempfile.mkdtemp(prefix="kforge-scratch-")
        for number in range(FOLDERS):
            path = os.path.join(top, str(number))
            os.mkdir(path)
            _free.append(path)
    except OSError:
        pass


def place(path):
    """Returns the path to which a path leads: the path itself, unless it is below an alias."""
    if not _aliases or isinstance(path, int):
        return path
    try:
        whole = os.path.abspath(os.fspath(path))
    except TypeError:
        return path
    if isinstance(whole, bytes):
        return path
    head, rest = whole, ""
    while head not in _aliases:
        parent = os.path.dirname(head)
        if parent == head:
            return path
        head, rest = parent, (
            os.path.join(os.path.basename(head), rest) if rest else os.path.basename(head)
        )
    return os.path.join(_aliases[head], rest) if rest else _aliases[head]


def _led(function, forgotten=False):
    """Returns `function` with its path redirected. `forgotten`: an operation that the filter
    refuses counts as done."""

    def led(*arguments, **named):
        try:
            return (
                function(place(arguments[0]), *arguments[1:], **named)
                if arguments
                else function(**named)
            )
        except PermissionError:
            if forgotten:
                return None
            raise

    return led


def _copied(function):
    """Returns a copying replacement for `function`, which the filter refuses. Code that writes to a
    temporary name first finds the final one."""

    def copied(source, target, **named):
        try:
            return function(place(source), place(target), **named)
        except PermissionError:
            with open(source, "rb") as file:
                content = file.read()
            with open(target, "wb") as file:
                file.write(content)

    return copied


def _forget_at_close(unlink):
    """Replaces the removal of a NamedTemporaryFile, which keeps the function that its module found
    at its import."""
    for name in ("close", "cleanup"):  # up to Python 3.11, from 3.12 on
        function = vars(getattr(tempfile, "_TemporaryFileCloser", object)).get(name)
        if function is not None and function.__defaults__:
            function.__defaults__ = tuple(
                os.unlink if default is unlink else default for default in function.__defaults__
            )


class Packages:
    """An entry of sys.meta_path. A path's finder reads the parent folder, which does not list a
    folder that was handed out."""

    def __init__(self, by_path):
        self.by_path = by_path

    def find_spec(self, name, path=None, target=None):
        for entry in sys.path if path is None else path:
            if not isinstance(entry, str):
                continue
            folder = os.path.join(os.path.abspath(entry), name.rpartition(".")[2])
            if folder not in _aliases:
                continue
            first = os.path.join(_aliases[folder], "__init__.py")
            if os.path.isfile(first):
                return self.by_path(name, first, submodule_search_locations=[folder])
        return None


def _lead_imports():
    """Redirects the import system's own functions for files, and those that readers of sources
    (inspect, a decorator) found at their import."""
    tokenize._builtin_open = builtins.open
    if hasattr(io, "open_code"):
        _io.open_code = io.open_code = _led(io.open_code)
    by_path = importlib.util.spec_from_file_location

    def spec_from_file_location(name, location=None, **named):
        return by_path(name, place(location) if location is not None else None, **named)

    importlib.util.spec_from_file_location = spec_from_file_location
    sys.path_hooks[:] = [_led(hook) for hook in sys.path_hooks]
    sys.meta_path.append(Packages(by_path))
    ctypes._dlopen = _led(ctypes._dlopen)


def install():
    """Installs everything, once, in the process that will execute a solution."""
    make = os.mkdir
    if getattr(make, "kforge", False):
        return

    def mkdir(path, mode=0o777, *, dir_fd=None):
        try:
            return make(place(path), mode, dir_fd=dir_fd)
        except (PermissionError, FileNotFoundError):
            whole = os.path.abspath(os.fspath(path))
            if os.path.exists(whole):
                raise FileExistsError(whole) from None
            if not _free or not os.path.isdir(os.path.dirname(whole)):
                raise
            _aliases[whole] = _free.pop()
            return None

    mkdir.kforge = True
    os.mkdir = mkdir
    unlink = os.unlink
    for name in ("open", "stat", "lstat", "listdir", "scandir", "access"):
        setattr(os, name, _led(getattr(os, name)))
    for name in ("unlink", "remove", "rmdir", "chmod"):
        setattr(os, name, _led(getattr(os, name), forgotten=True))
    _forget_at_close(unlink)
    builtins.open = io.open = _led(io.open)
    os.rename, os.replace = _copied(os.rename), _copied(os.replace)
    _lead_imports()
    if _free:
        os.chdir(_free.pop())  # relative paths must be writable, too
