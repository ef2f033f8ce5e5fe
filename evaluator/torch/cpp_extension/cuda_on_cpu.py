"""CUDA sources of an extension on a PyTorch without CUDA: kforge-cpucc replaces nvcc, as it does
for candidates in CUDA C.

include/kforge_torch_cuda.h has the parts of PyTorch that launchers use. In it a tensor of the
processor passes for one on a GPU. The compiler proper reads headers in angle brackets ("#pragma
kforge include"), since rewriting all of PyTorch's headers would take longer than compiling them.
The object is linked into the extension that PyTorch's own code builds from the C++ sources.
"""
import contextlib
import ctypes
import inspect
import json
import os
import re
import sys
import sysconfig

from cpp_extension import ninja_file

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
COMPILER = os.path.join(ROOT, "bin", "kforge-cpucc")
SYSTEM_HEADER = re.compile(
    r"^[ \t]*#[ \t]*include[ \t]*(<[^>\n]*>|\"(?:torch|ATen|c10)/[^\"\n]*\")[^\n]*$", re.M
)
PRELUDE = '#pragma kforge include "kforge_torch_cuda.h"\n'
USES_TORCH = re.compile(r"\b(?:torch|ATen|at|c10)\b")
PASSED = (
    "-D",
    "-I",
    "--use_fast_math",
    "-use_fast_math",
    "-fmad",
    "--fmad",
    "-O0",
    "-O1",
    "-O2",
    "-O3",
)


STANDARD = re.compile(r"(?<!\S)--?std=(\S+)")
PYTORCHS_STANDARD = re.compile(r"-std=(c\+\+\w+)")
TOO_OLD = ("98", "03", "0x", "11", "1y", "14")  # kforge's headers need C++17

FOLDER = "{folder}"  # stands for the source's folder in a flag
# Source of a compiler -> (the solution's own source, name of its extension, flags).
origins = {}


def deferred(text):
    return SYSTEM_HEADER.sub(lambda found: "#pragma kforge include " + found.group(1), text)


def pytorchs_standard():
    """Returns the C++ standard that this PyTorch gives to extensions. No function or constant of
    PyTorch names it, so it is read from the text of the function that writes the build file."""
    from torch.utils import cpp_extension

    try:
        text = inspect.getsource(cpp_extension._write_ninja_file_to_build_library)
    except (AttributeError, OSError, TypeError):
        text = ""
    found = PYTORCHS_STANDARD.search(text)
    return found.group(1) if found else "c++17"


def standard(flags, default):
    """Returns the flag with the C++ standard for a source: the last one in the solution's flags, or
    `default`."""
    chosen = (STANDARD.findall(" ".join(flags)) or [default])[-1]
    return "-std=" + ("c++17" if chosen.endswith(TOO_OLD) else chosen)


def macros(name):
    import torch

    yield "-DTORCH_EXTENSION_NAME=%s" % name
    yield "-DTORCH_API_INCLUDE_EXTENSION_H"
    yield "-D_GLIBCXX_USE_CXX11_ABI=%d" % torch._C._GLIBCXX_USE_CXX11_ABI
    for part in ("COMPILER_TYPE", "STDLIB", "BUILD_ABI"):
        value = getattr(torch._C, "_PYBIND11_" + part, None)
        if value is not None:
            yield '-DPYBIND11_%s="%s"' % (part, value)


def compile_source(path, folder, name, flags):
    """Returns the object file of a CUDA source, which is compiled together with the C++ sources."""
    from torch.utils import cpp_extension

    with open(path, encoding="utf-8", errors="replace") as file:
        text = file.read()
    base = os.path.basename(path)
    source, target = os.path.join(
        folder, "kforge-" + os.path.splitext(base)[0] + ".cu"
    ), os.path.join(folder, base + ".o")
    with open(source, "w", encoding="utf-8") as file:
        file.write(
            '%s#line 1 "%s"\n%s'
            % (PRELUDE if USES_TORCH.search(text) else "", path, deferred(text))
        )
    command = [COMPILER, "-c", source, "-o", target, "-I", os.path.join(HERE, "include")]
    for include in cpp_extension.include_paths() + [
        sysconfig.get_path("include", "posix_prefix"),
        os.path.dirname(path),
    ]:
        command += ["-I", include]
    command += list(macros(name)) + [flag for flag in flags if flag.startswith(PASSED)]
    command.append(standard(flags, pytorchs_standard()))
    ninja_file.cuda_jobs.append((command, source))
    origins[source] = path, name, flags
    return target


def describe(source):
    """Returns all that recompile needs for a source of a compiler, as bytes."""
    from cpp_extension import extensions

    path, name, flags = origins[source]
    with open(path, encoding="utf-8", errors="replace") as file:
        text = file.read()
    headers = [
        [place, texts[0][1]] for _, place, texts in extensions.read_headers([os.path.dirname(path)])
    ]
    folder, file_name = os.path.split(path)
    flags = [flag.replace(folder, FOLDER) for flag in flags]
    given = {"file": file_name, "text": text, "name": name, "flags": flags, "headers": headers}
    return json.dumps(given).encode()


def recompile(request, folder):
    """Compiles a source once more, from the text that describe returns. Foreign code made that
    text, so each field is checked. Returns the compiler's exit status and messages."""
    given = json.loads(request)
    files = [[given["file"], given["text"]]] + given["headers"]
    for place, text in reversed(files):  # a header replaces no source
        path = os.path.normpath(os.path.join(folder, place))
        if os.path.commonpath([folder, path]) != folder or not isinstance(text, str):
            raise ValueError(place)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    flags = [flag.replace(FOLDER, folder) for flag in given["flags"]]
    compile_source(path, folder, re.sub(r"\W", "_", given["name"]), flags)
    return ninja_file.run_either(folder, ninja_file.ways_for_cuda(*ninja_file.cuda_jobs.pop()))


@contextlib.contextmanager
def own_runtime_first():
    """While active, imported modules find CUDA's functions in libkfcpu. A PyTorch with CUDA exports
    NVIDIA's runtime, and without a GPU all its functions fail."""
    import torch

    before = sys.getdlopenflags()
    if torch.version.cuda:
        sys.setdlopenflags(before | os.RTLD_DEEPBIND)
    try:
        yield
    finally:
        sys.setdlopenflags(before)


def load_library(path):
    """Does the same for a library that is no module. ctypes ignores those flags, and a loaded
    library stays as it is."""
    with own_runtime_first():
        ctypes.CDLL(path, mode=sys.getdlopenflags())


def without_cuda(given, as_list):
    """Returns the arguments of load or load_inline, with the CUDA sources as objects to link."""
    given, folder, name = dict(given), given["build_directory"], given["name"]
    files = []
    if given.get("cuda_sources"):
        files.append(os.path.join(folder, "cuda.cu"))
        with open(files[0], "w", encoding="utf-8") as file:
            file.write("\n".join(as_list(given.pop("cuda_sources"))))
        given["cpp_sources"] = ['#include "kforge_torch_cuda.h"'] + as_list(given["cpp_sources"])
    else:
        sources = [os.path.abspath(os.fspath(path)) for path in as_list(given["sources"])]
        files = [path for path in sources if path.endswith((".cu", ".cuh"))]
        given["sources"] = [path for path in sources if path not in files]
        if not given["sources"]:
            given["sources"] = [os.path.join(folder, "empty.cpp")]
            open(given["sources"][0], "w").close()
    flags = as_list(given.pop("extra_cuda_cflags", None))
    objects = [compile_source(path, folder, name, flags) for path in files]
    library = os.path.join(ROOT, "lib", "kforge")
    given["with_cuda"] = False
    given["extra_include_paths"] = as_list(given.get("extra_include_paths")) + [
        os.path.join(HERE, "include")
    ]
    # After the system's folders, since some of kforge's headers replace headers of CUDA's
    # compilers.
    behind = ["-idirafter", os.path.join(library, "cpu", "include")]
    own = as_list(given.get("extra_cflags"))
    given["extra_cflags"] = own + [standard(own, pytorchs_standard())] + behind
    given["extra_ldflags"] = (
        objects
        + as_list(given.get("extra_ldflags"))
        + ["-L" + library, "-Wl,-rpath," + library, "-lkfcpu"]
    )
    return given
