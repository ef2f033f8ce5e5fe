"""Runs the build file that PyTorch writes for ninja.

ninja itself gives each compiler a process group of its own, by which it would leave the group that the jail is stopped by, so the jail refuses. What PyTorch writes uses
little of ninja's language: variables, rules with a command, one statement for each object and one for the library.
"""
import concurrent.futures
import os
import re
import shlex
import subprocess

UNSUPPORTED = 3  # exit status of kforge-cpucc
TOKEN = re.compile(r"\$(?:(?P<escaped>[$ :\n])|\{(?P<braced>[A-Za-z0-9_.-]+)\}|(?P<plain>[A-Za-z0-9_-]+))")


def expand(text, variables):
    return TOKEN.sub(lambda m: m.group("escaped") or variables.get(m.group("braced") or m.group("plain"), ""), text)


def split_paths(text):
    """Paths apart by blanks that no $ stands before."""
    return [expand(path, {}) for path in re.findall(r"(?:\$.|[^\s$])+", text)]


def parse(text):
    """(variables, commands of the rules by name, [(target, rule, inputs)])."""
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


beside = []  # command lines whose results the library needs, too


class Refused(RuntimeError):
    """What a compiler said; `unsupported`: the CPU device lacks what a source needs."""

    unsupported = False


def run(folder, command):
    done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode, done.stdout.decode("utf-8", "replace")


def build(folder, _verbose=False, error_prefix="Error building the extension"):
    """Stands for torch.utils.cpp_extension._run_ninja_build."""
    with open(os.path.join(folder, "build.ninja"), encoding="utf-8") as file:
        variables, rules, builds = parse(file.read())
    made = {target for target, _, _ in builds}
    steps = [[b for b in builds if not made.intersection(b[2])], [b for b in builds if made.intersection(b[2])]]
    workers = max(1, int(os.environ.get("MAX_JOBS") or 1))
    for step in steps:
        commands, beside[:] = list(beside), []
        for target, rule, inputs in step:
            own = dict(variables, out=shlex.quote(target))
            own["in"] = " ".join(shlex.quote(path) for path in inputs)
            commands.append(["/bin/sh", "-c", expand(rules[rule], own)])
        with concurrent.futures.ThreadPoolExecutor(workers) as pool:
            results = list(pool.map(lambda command: run(folder, command), commands))
        failed = [(output, status) for status, output in results if status]
        if failed:
            refused = Refused("%s:\n%s" % (error_prefix, "\n".join(output for output, _ in failed)))
            refused.unsupported = any(status == UNSUPPORTED for _, status in failed)
            raise refused
