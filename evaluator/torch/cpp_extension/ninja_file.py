"""Runs the build file that PyTorch writes for ninja.

ninja puts each compiler into a process group of its own. A compiler would then leave the group by
which the jail is stopped, so the jail refuses ninja. PyTorch uses little of ninja's language:
variables, rules with a command, one statement for each object and one for the library.
"""
import concurrent.futures
import os
import re
import shlex
import signal
import subprocess

from cpp_extension import slim_headers

UNSUPPORTED, KILLED = 3, 4  # exit statuses of kforge-cpucc
# Signals of other programs, or of a machine without memory (KF_SANDBOX_OUTSIDE_SIGNALS).
OUTSIDE = (signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
TOKEN = re.compile(
    r"\$(?:(?P<escaped>[$ :\n])|\{(?P<braced>[A-Za-z0-9_.-]+)\}|(?P<plain>[A-Za-z0-9_-]+))"
)


def expand(text, variables):
    return TOKEN.sub(
        lambda m: m.group("escaped") or variables.get(m.group("braced") or m.group("plain"), ""),
        text,
    )


def split_paths(text):
    """Splits paths at blanks without a $ before them."""
    return [expand(path, {}) for path in re.findall(r"(?:\$.|[^\s$])+", text)]


def parse(text):
    """Returns (variables, commands of the rules by name, [(target, rule, inputs)])."""
    variables, rules, builds, rule = {}, {}, [], None
    for line in re.sub(r"\$\n[ \t]*", "", text).split("\n"):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if line[0].isspace():
            name, _, value = line.strip().partition("=")
            if rule is not None and name.strip() == "command":
                rules[rule] = value.strip()
        elif line.startswith("rule "):
            rule = line[5:].strip()
        elif line.startswith("build "):
            rule = None
            target, _, rest = re.sub(r"\$:", "\0", line[6:]).partition(":")
            words = split_paths(rest.replace("\0", "$:"))
            inputs = words[1 : words.index("|")] if "|" in words else words[1:]
            builds.append((split_paths(target.replace("\0", "$:"))[0], words[0], inputs))
        elif "=" in line and not line.startswith("default "):
            rule = None
            name, _, value = line.partition("=")
            variables[name.strip()] = expand(value.strip(), variables)
    return variables, rules, builds


cuda_jobs = []  # (command line, its source): the library needs their objects, too
FLAGS = ("cflags", "cuda_cflags")  # names of PyTorch's rules for the two compilers


class Refused(RuntimeError):
    """A compiler's messages. `unsupported`: the source that needs something that the CPU device
    lacks, or None."""

    unsupported = None


def words_of_a_kill(command, status):
    """Returns a line about a program that a signal ended, as gcc writes it (machine_failures.c), or
    "". A shell adds 128 to the signal's number."""
    number = -status if status < 0 else status - 128
    if os.path.basename(command[0]) == "kforge-cpucc" and status == KILLED:
        number = signal.SIGKILL
    return "\nthe compiler terminated with signal %d\n" % number if number in OUTSIDE else ""


def run(folder, command):
    done = subprocess.run(
        command,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    words = words_of_a_kill(command, done.returncode)
    return done.returncode, done.stdout.decode("utf-8", "replace") + words


def run_either(folder, ways):
    """Runs the first of several command lines for the same object that succeeds. After failures
    raises the last one's messages."""
    for command in ways:
        status, output = run(folder, command)
        if status in (0, UNSUPPORTED):
            break
    return status, output


def ways_to_make(build, rules, variables):
    """Returns the command lines for one statement of the build file. If possible, the first one has
    fewer of PyTorch's headers."""
    target, rule, inputs = build
    own = dict(variables, out=shlex.quote(target))
    own["in"] = " ".join(shlex.quote(path) for path in inputs)
    ways = [own]
    name = next((name for name in FLAGS if name in own and "$" + name in rules[rule]), None)
    first = slim_headers.flags(inputs[0]) if name else None
    if first:
        ways.insert(0, dict(own, **{name: "%s %s" % (shlex.join(first), own[name])}))
    return [["/bin/sh", "-c", expand(rules[rule], each)] for each in ways]


def ways_for_cuda(command, source):
    """Returns the command lines for a source of `cuda_jobs`, as ways_to_make does."""
    first = slim_headers.flags(source)
    return ([command[:1] + first + command[1:]] if first else []) + [command]


def build(folder, _verbose=False, error_prefix="Error building the extension"):
    """Replaces torch.utils.cpp_extension._run_ninja_build."""
    with open(os.path.join(folder, "build.ninja"), encoding="utf-8") as file:
        variables, rules, builds = parse(file.read())
    made = {target for target, _, _ in builds}
    steps = [
        [b for b in builds if not made.intersection(b[2])],
        [b for b in builds if made.intersection(b[2])],
    ]
    workers = max(1, int(os.environ.get("MAX_JOBS") or 1))
    jobs = [ways_for_cuda(command, source) for command, source in cuda_jobs]
    sources = [source for _, source in cuda_jobs]
    cuda_jobs[:] = []
    for step in steps:
        jobs += [ways_to_make(each, rules, variables) for each in step]
        with concurrent.futures.ThreadPoolExecutor(workers) as pool:
            results = list(pool.map(lambda ways: run_either(folder, ways), jobs))
        jobs, failed = [], [(output, status) for status, output in results if status]
        if failed:
            refused = Refused("%s:\n%s" % (error_prefix, "\n".join(output for output, _ in failed)))
            refused.unsupported = next(
                (source for source, (status, _) in zip(sources, results) if status == UNSUPPORTED),
                None,
            )
            raise refused
        sources = []
