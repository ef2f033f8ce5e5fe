"""Declarations and assignments of C++ in driver.cpp, as Python. A statement that is not understood
is refused with its line."""
import ast
import re

import load
from formats.cpp_expressions import NAME, python
from formats.cpp_text import closing, split

SKIPPED = re.compile(
    r"^(namespace |struct |class |using |torch::NoGradGuard|torch::InferenceMode|c10::|"
    r"at::(?!Tensor\b)|"
    r"torch::manual_seed|torch::cuda::|torch::set_default|cudaDeviceSynchronize|cudaSetDevice|"
    r"srand|std::cout|std::cerr|"
    r"printf|return\b|\w+(\.|->)(train|zero_grad)\(\)$|static_assert|assert\()"
)
TYPES = (
    r"(?:unsigned\s+)?(?:auto|int|long|int64_t|int32_t|uint32_t|size_t|float|double|bool|"
    r"(?:torch|at|c10)::[\w:]+|std::vector<[\w:<>\s]+>|void|half|__half|char)(?:\s*[*&]+)?"
)
DECLARATION = re.compile(
    r"^(?:(?:const|static|constexpr)\s+)*(%s)(?![\w:])\s*(?:const\s+)?(?=[A-Za-z_])" % TYPES
)


def refuse(what, line, todo):
    where = "driver.cpp:%d" % line if line else "driver.cpp"
    raise load.LoadError(what, where, todo)


def check(code, line):
    try:
        ast.parse(code)
    except SyntaxError:
        refuse(
            'the statement "%s" is not understood' % code[:80],
            line,
            "write the reference with plain calls of libtorch",
        )
    return code


def check_in_function(code, line):
    check("def f():\n    " + code, line)
    return code


def declared(statement):
    """Returns (target, Python of its value, type) of a declaration or assignment; target None for
    another statement."""
    found = DECLARATION.match(statement)
    if found and not re.match(r"^\w+(\.|->|\()", statement):
        rest, kind = statement[found.end() :].strip(), found.group(1)
        name = NAME.match(rest)
        if not name:
            return None, "", ""
        tail = rest[name.end() :].strip()
        if tail.startswith("="):
            return name.group(0), python(tail[1:]), kind
        if tail.startswith(("(", "{")):
            inner = tail[1 : closing(tail, 0) - 1]
            if kind.startswith("torch::nn::"):
                return name.group(0), "%s(%s)" % (python(kind), python(inner)), kind
            if kind in ("torch::Device", "c10::Device"):
                return name.group(0), "torch.Device()", kind
            if kind.startswith("std::vector"):
                return name.group(0), "[%s]" % python(inner), kind
            return name.group(0), python(inner), kind
        return name.group(0), "None", kind
    found = re.match(r"^([A-Za-z_]\w*)\s*([-+*/]?)=(?!=)(.*)$", statement, re.S)
    if found:
        code = python(found.group(3))
        if found.group(2):
            code = "%s %s (%s)" % (found.group(1), found.group(2), code)
        return found.group(1), code, ""
    return None, "", ""


def declarators(statement):
    """Returns the statements of a declaration with several names."""
    found = DECLARATION.match(statement)
    if not found or re.match(r"^\w+(\.|->|\()", statement):
        return [statement]
    parts = split(statement[found.end() :], ",")
    if len(parts) == 1 or not all(re.match(r"\s*[A-Za-z_]\w*\s*(=|$|\(|\{)", p) for _, p in parts):
        return [statement]
    return [found.group(0) + part.strip() for _, part in parts]
