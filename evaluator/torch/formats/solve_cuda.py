"""Files in CUDA with an entry solve(…), as on sites for practice: a task without PyTorch.

The file has a function on the processor with the parameters of solve, which is the oracle. It
becomes a kernel of one thread that computes in float64. Roles follow from the signature: const
pointers are inputs, others outputs, or both where the function reads them. Extents follow from the
indices within the function's loops, or from a comment: `// A: M*K`. solve itself is the baseline.
"""

import itertools
import re

import load
from formats import cpp_text

TYPES = {
    "float": "f32",
    "double": "f64",
    "half": "f16",
    "__half": "f16",
    "int": "i32",
    "int32_t": "i32",
    "long long": "i64",
    "int64_t": "i64",
    "unsigned char": "u8",
    "uint8_t": "u8",
}
FLOATS = ("f16", "f32", "f64")
NUMBERS = ("int", "int32_t", "int64_t", "long long", "long", "size_t", "unsigned", "unsigned int")
# Sizes by the number of extents of the largest pointer.
SIZES = {1: (65536, 1003, 777), 2: (256, 65, 100), 3: (64, 17, 31)}
MATH = re.compile(
    r"\b(exp|log|sqrt|pow|sin|cos|tanh|tan|fabs|fmax|fmin|erf|floor|ceil|rsqrt)f\s*\("
)
TRIALS = ((5, 7, 11, 13), (3, 17, 2, 19))


class Parameter:
    def __init__(self, text, where):
        found = re.match(
            r"^(const\s+)?([\w\s]+?)\s*(const\s+)?(\*?)\s*(?:__restrict__\s*)?(\w+)$", text
        )
        if not found:
            refuse(
                'the parameter "%s" is not understood' % text,
                where,
                "use plain pointers and numbers",
            )
        self.constant, self.type = bool(found.group(1)), " ".join(found.group(2).split())
        self.pointer, self.name = bool(found.group(4)), found.group(5)
        known = TYPES if self.pointer else {**TYPES, **dict.fromkeys(NUMBERS, "i64")}
        if self.type not in known:
            refuse(
                'the type of "%s" is unknown' % text,
                where,
                "use one of %s" % ", ".join(sorted(known)),
            )
        self.dtype = known[self.type]
        self.is_size = not self.pointer and self.type in NUMBERS
        self.extent = None

    @property
    def c(self):
        return "%s%s %s%s" % (
            "const " if self.constant else "",
            self.type,
            "*" if self.pointer else "",
            self.name,
        )


def refuse(what, where, todo):
    raise load.LoadError(what, where, todo)


def functions(text):
    """Yields (words before the name, name, parameters, body, line) of each function."""
    pattern = re.compile(r"((?:[\w\"]+[\s*&]+)+)(\w+)\s*\(([^()]*)\)\s*\{")
    for found in pattern.finditer(text):
        end = cpp_text.closing(text, found.end() - 1)
        line = text.count("\n", 0, found.start(2)) + 1
        yield found.group(1), found.group(2), found.group(3), text[found.end() : end - 1], line


def parameters_of(text, where):
    return [Parameter(" ".join(part.split()), where) for part in text.split(",") if part.strip()]


def find(text, name):
    """Returns (parameters of solve, its line, the function on the processor)."""
    clean = cpp_text.without_comments(text)
    found = list(functions(clean))
    entry = next((f for f in found if f[1] == "solve"), None)
    if not entry:
        refuse("it has no function solve", name, 'add extern "C" void solve(…)')
    where = "%s:%d" % (name, entry[4])
    wanted = parameters_of(entry[2], where)
    for words, own, given, body, _ in found:
        if own == "solve" or "__global__" in words or "__device__" in words:
            continue
        try:
            other = parameters_of(given, where)
        except load.LoadError:
            continue
        if [(p.type, p.pointer) for p in other] == [(p.type, p.pointer) for p in wanted]:
            return wanted, where, other, body
    refuse(
        "it has no function on the processor with the parameters of solve",
        where,
        "add one as the reference: void solve_cpu(%s)" % ", ".join(p.c for p in wanted),
    )


# ---- extents -------------------------------------------------------------------------------------


def integer(code, values):
    code = re.sub(r"\((?:int|long|size_t|int64_t|long long)\)|\bstatic_cast<[\w\s]+>", "", code)
    return int(
        eval(code.replace("/", "//"), {"__builtins__": {}, "min": min, "max": max}, dict(values))
    )


def largest_indices(body, pointers, sizes):
    """Returns {pointer: largest index} for values of the sizes, by the bounds of loops and the
    definitions of integers, in the order of the text."""
    values, found = dict(sizes), {}
    pattern = re.compile(
        r"for\s*\(\s*(?:[\w\s]+\s)?(\w+)\s*=\s*([^;]+);\s*\w+\s*(<=|<)\s*([^;]+);"
        r"|\b(?:const\s+)?(?:int|long|size_t|int64_t|unsigned)\s+(\w+)\s*=\s*([^;]+);"
        r"|\b(%s)\s*\[" % "|".join(map(re.escape, pointers))
    )
    for match in pattern.finditer(body):
        try:
            if match.group(1):
                values[match.group(1)] = integer(match.group(4), values) - (match.group(3) == "<")
            elif match.group(5):
                values[match.group(5)] = integer(match.group(6), values)
            else:
                start = match.end() - 1
                index = integer(body[start + 1 : cpp_text.closing(body, start) - 1], values)
                name = match.group(7)
                found[name] = max(found.get(name, 0), index)
        except Exception:
            if match.group(7):
                found[match.group(7)] = None
    return found


def extents(text, body, parameters, own, where):
    """Sets the extent of each pointer: a list of names of sizes, the product of which it is."""
    sizes = [p.name for p in own if p.is_size]
    pointers = [p.name for p in own if p.pointer]
    trials = [dict(zip(sizes, numbers)) for numbers in TRIALS]
    measured = [largest_indices(body, pointers, trial) for trial in trials]
    names = dict(zip((p.name for p in own), (p.name for p in parameters)))
    for parameter, other in zip(parameters, own):
        if not parameter.pointer:
            continue
        said = re.search(r"//\s*%s\s*:\s*([\w\s*]+)$" % re.escape(parameter.name), text, re.M)
        if said:
            parameter.extent = [word.strip() for word in said.group(1).split("*")]
            continue
        last = [m.get(other.name) for m in measured]
        for count in range(0, 4):
            for chosen in itertools.combinations_with_replacement(sizes, count):
                products = [_product(trial[n] for n in chosen) for trial in trials]
                if None not in last and [n - 1 for n in products] == last:
                    parameter.extent = [names[n] for n in chosen] or [1]
                    break
            if parameter.extent:
                break
        if not parameter.extent:
            refuse(
                "the extent of %s is not found" % parameter.name,
                where,
                "say it in a comment: // %s: %s"
                % (parameter.name, "*".join(names[n] for n in sizes) or "16"),
            )


def _product(numbers):
    result = 1
    for number in numbers:
        result *= number
    return result


# ---- the task ------------------------------------------------------------------------------------


def widened(body):
    """Returns a function's body in float64."""
    body = MATH.sub(r"\1(", body)
    body = re.sub(r"\b(?:std::)(exp|log|sqrt|pow|sin|cos|tanh|max|min|abs)\b", r"\1", body)
    body = re.sub(r"(\d\.?\d*(?:[eE][-+]?\d+)?)f\b", r"\1", body)
    return re.sub(r"\bfloat\b", "double", body)


def oracle_of(own, body):
    lines = [
        "// The function on the processor, in float64, as a kernel of one thread.",
        "#include <cstdint>",
        "template <class T> struct widened_input",
        "{",
        "    const T *data;",
        "    __host__ __device__ double operator[](int64_t i) const { return (double)data[i]; }",
        "};",
    ]
    taken, passed, outer = [], [], []
    for p in own:
        if p.pointer and p.dtype in FLOATS:
            taken.append(
                "widened_input<%s> %s" % (p.type, p.name) if p.constant else "double *" + p.name
            )
            outer.append("const %s *%s" % (p.type, p.name) if p.constant else "double *" + p.name)
            passed.append("widened_input<%s>{%s}" % (p.type, p.name) if p.constant else p.name)
        else:
            kind = "double" if p.type == "float" and not p.pointer else p.type
            taken.append(
                "%s%s %s%s"
                % ("const " if p.constant else "", kind, "*" if p.pointer else "", p.name)
            )
            outer.append(p.c)
            passed.append(p.name)
    lines += ["static __device__ void reference(%s)" % ", ".join(taken), "{" + widened(body) + "}"]
    lines += [
        "static __global__ void one_thread(%s)" % ", ".join(outer),
        "{",
        "    reference(%s);" % ", ".join(passed),
        "}",
    ]
    lines += [
        'extern "C" void KFORGE_ENTRY_oracle(%s, cudaStream_t stream)' % ", ".join(outer),
        "{",
    ]
    lines += ["    one_thread<<<1, 1, 0, stream>>>(%s);" % ", ".join(p.name for p in own), "}", ""]
    return "\n".join(lines)


def shape_of(parameter):
    return [" * ".join(map(str, parameter.extent))] if parameter.extent != [1] else [1]


def translate(bundle):
    ((name, text),) = bundle["files"].items()
    parameters, where, own, body = find(text, name)
    extents(text, body, parameters, own, where)
    sizes = [p for p in parameters if p.is_size]
    order = max((len(p.extent) for p in parameters if p.pointer), default=1)
    numbers = SIZES[min(max(order, 1), 3)]
    arguments = []
    for p, o in zip(parameters, own):
        if not p.pointer:
            value = p.name if p.is_size else 0.5
            arguments.append(
                {
                    "name": p.name,
                    "kind": "scalar",
                    "dtype": TYPES.get(p.type, "i64"),
                    "value": value,
                }
            )
            continue
        reads = len(re.findall(r"\b%s\s*\[[^=;]*\](?!\s*=[^=])" % re.escape(o.name), body))
        kind = "input" if p.constant else "inout" if reads else "output"
        entry = {"name": p.name, "kind": kind, "dtype": p.dtype, "shape": shape_of(p)}
        if kind != "output":
            entry["distribution"] = (
                {"kind": "normal"} if p.dtype in FLOATS else {"kind": "integers", "high": 100}
            )
        arguments.append(entry)
    outputs = [a["name"] for a in arguments if a["kind"] in ("output", "inout")]
    if not outputs:
        refuse("it has no output", where, "make the pointer that it writes non-const")

    def workload(label, index, **more):
        return {
            "name": label,
            "params": (
                {p.name: numbers[index] + i for i, p in enumerate(sizes)}
                if index
                else {p.name: numbers[0] for p in sizes}
            ),
            **more,
        }

    task = {
        "description": "Compute %s as the function on the processor in %s does."
        % (", ".join(outputs), name),
        "params": {p.name: numbers[0] for p in sizes},
        "arguments": arguments,
        "oracle": {"kind": "cuda", "file": "oracle.cu"},
        "baseline": {"kind": "cuda", "file": "baseline.cu"},
        "workloads": (
            [
                workload("main", 0),
                workload("ragged", 1, timed=False),
                workload("unseen", 2, timed=False, hidden=True),
            ]
            if sizes
            else [{"name": "main"}]
        ),
    }
    entry = (
        "\n/* The entry of the task, added by the import. */\n"
        'extern "C" void KFORGE_ENTRY(%s, cudaStream_t)\n{\n    solve(%s);\n}\n'
        % (", ".join(p.c for p in parameters), ", ".join(p.name for p in parameters))
    )
    return {
        "task": task,
        "files": {
            "oracle.cu": oracle_of(own, body),
            "baseline.cu": "#include <cstdint>\n" + text + entry,
        },
        "notes": [],
    }
