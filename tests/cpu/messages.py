#!/usr/bin/env python3
"""messages.py KFORGE-CPUCC

Compile errors have the file's own lines and columns. In each source below, § stands where an error
is expected. The words behind the source are parts of the messages, in the same order."""
import os
import re
import subprocess
import sys
import tempfile

CASES = {
    "no semicolon at the end of the file": ("__device__ int z§", ["end of input"]),
    "no semicolon, then a blank line": ("struct s { int a; }§\n\n", ["after struct definition"]),
    "no semicolon before a brace": (
        "__global__ void k(float *x)\n{\n    x[0] = 1§\n}\n", ["expected ‘;’ before ‘}’"]),
    "no semicolon before a statement": (
        "__global__ void k(float *x)\n{\n    int i = threadIdx.x§\n    if (i < 4) x[i] = 1;\n}\n",
        ["‘;’ before ‘if’"]),
    "no semicolon after a launch": (
        "__global__ void k(float *x) {}\nvoid f(float *x) { k<<<1, 32>>>(x)§ }\n", ["expected ‘;’"]),
    "inside a launch": (
        "__global__ void k(float *x) {}\n"
        "void f(float *x) { k<<<dim3(1, §nope), 32, 0, §none>>>(x, §n); }\n",
        ["‘nope’ was not", "‘none’ was not", "‘n’ was not"]),
    "behind a launch on its line": (
        "__global__ void k(float *x) {}\nvoid f(float *x) { k<<<1, 32>>>(x); §q = 1; }\n", ["‘q’"]),
    "inside a macro": (
        "#define TWICE(a)   ((a) +§* 2)\n__global__ void k(float *x)\n{\n    x[0]  =  TWICE(x[1]);\n}\n",
        ["unary ‘*’"]),
    "in the argument of a macro": (
        "#define TWICE(a)   (2 * (a))\n#define N 4\n__global__ void k(float *x)\n{\n"
        "    x[N  +  1] = TWICE(  §y  );   §w = N;\n}\n", ["‘y’", "‘w’"]),
    "in an argument on a line of its own": (
        "#define TWICE(a)   (2 * (a))\n__global__ void k(float *x)\n{\n    x[0] = TWICE(\n"
        "        §y\n    );\n}\n", ["‘y’"]),
    "in a template": (
        "template <typename T> __global__ void k(T *x)\n{\n    x[threadIdx.x]  =  x[§y];\n}\n", ["‘y’"]),
    "in a member of a template": (
        "template <int N> struct s { float v[N];  __device__ float get() { return §w; } };\n", ["‘w’"]),
    "after shared memory": (
        "__global__ void k(float *x)\n{\n    __shared__ float tile[32]§\n    int i = threadIdx.x;\n"
        "    x[§i] = 1;\n}\n", ["expected initializer", "‘i’"]),
    "before shared memory": (
        "__global__ void k(float *x)\n{\n    float v = 1§\n    __shared__ float tile[32];\n}\n",
        ["before ‘__shared__’"]),
    "before dynamic shared memory": (
        "__global__ void k(float *x)\n{\n    float v = 1§\n    extern __shared__ float s[];\n"
        "    s[0] = v;\n}\n", None),
    "behind dynamic shared memory": (
        "__global__ void k(float *x)\n{\n    extern __shared__ float s[];  s[0] = §w;\n}\n", ["‘w’"]),
    "two errors on a line": (
        "__global__ void k(float *x) { x[0] = §a;\tx[1] = §b; }\n", ["‘a’", "‘b’"]),
    "a type in a parameter list, once": (
        "__global__ void k(float *x, §Quux *y) { x[0] = 1; }\n", ["‘Quux’"]),
    "before a qualifier": ("__constant__ float z[2]§\n__device__ void f() {}\n", ["initializer"]),
    "behind an include and a comment": (
        "#include <vector>\n/* two\n   lines */ int a = §b; // c\n", ["‘b’"]),
    "behind a continued line": ("int a = \\\n    §b;\nint c = §d;\n", ["‘b’", "‘d’"]),
    "in a raw string's line": ("const char *t = R\"(a\nb)\"; int c = §d;\n", ["‘d’"]),
    "a missing header": ("int a;\n#include §<nowhere/none.h>\n", ["No such file"]),
    "a marker as text": ("const char *t = \"{P:x;F:y;L:1;C:2;S:0;M:0;E:0,LOC:1,R:1}\"; int c = d;\n", None),
}


def compile_it(program, folder, source):
    path = os.path.join(folder, "mine.cu")
    with open(path, "w") as file:
        file.write(source)
    done = subprocess.run([program, "-c", "mine.cu", "-o", "mine.o"], cwd=folder, capture_output=True, text=True)
    return done.returncode, done.stderr


def places(source):
    """The lines and columns of the marks, columns in bytes."""
    found, plain = [], ""
    for part in source.split("§")[:-1]:
        plain += part
        found.append((plain.count("\n") + 1, len(plain[plain.rfind("\n") + 1:].encode()) + 1))
    return found


def complaint(program, folder, source, words):
    """What is wrong with the messages, or None."""
    status, messages = compile_it(program, folder, source.replace("§", ""))
    if status != 1:
        return "status %d" % status
    if "kfcpu" in messages or "/lib/kforge/" in messages:
        return "kforge's own names are shown"
    errors = re.findall(r"^mine\.cu:(\d+):(?:(\d+):)? (?:fatal )?error: (.*)$", messages, re.M)
    if words is None:
        want = {line for line, _ in places(source)}
        return "no error" if not errors else None if want <= {int(e[0]) for e in errors} or not want else "other lines"
    if [(int(line), int(column or 0)) for line, column, _ in errors] != places(source):
        return "expected %s" % places(source)
    for (_, _, text), word in zip(errors, words):
        if word not in text:
            return "no %s" % word
    # the line of code, and a caret below the column
    for line, column in places(source):
        code = source.replace("§", "").split("\n")[line - 1]
        blanks = "".join(c if c == "\t" else " " for c in code.encode()[:column - 1].decode(errors="ignore"))
        if code and "%5d | %s\n      | %s^" % (line, code, blanks) not in messages:
            return "no caret below %d:%d" % (line, column)
    return None


def main():
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, (source, words) in CASES.items():
            problem = complaint(sys.argv[1], folder, source, words)
            if problem:
                failed += 1
                print("%s: %s\n%s" % (name, problem, compile_it(sys.argv[1], folder, source.replace("§", ""))[1]))
    print("%d of %d cases failed" % (failed, len(CASES)))
    return failed > 0


sys.exit(main())
