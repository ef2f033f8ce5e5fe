"""Kernels in CUDA with a driver in C++, as problem files.

A folder has init.cu, with a function that starts the kernels, and driver.cpp: it makes tensors with
libtorch, computes a reference with libtorch, calls the function with pointers and sizes, and
compares. The translator reads main() of the driver statement by statement:

- numbers become module-level constants
- modules, and tensors that are no input of the kernel, are made in the constructor of Model
- tensors that a factory draws, and that the kernel or the reference reads, are inputs
- the statements that lead to the reference become forward

The function and its arguments become a seed: init.cu with an entry of the task's prototype. A
statement that is not understood is refused with its line.
"""

import ast
import re

import load

FACTORIES = ("randn", "rand", "randint", "randperm", "ones", "zeros", "full", "empty", "arange")
FACTORY = re.compile(r"^torch\.(%s)\(" % "|".join(FACTORIES))
DRAWS = re.compile(r"\btorch\.(randn|rand|randint|randperm)\(")
# The constants M_PI and so on of math.h.
NUMBERS = {
    "PI": "math.pi",
    "E": "math.e",
    "SQRT2": "math.sqrt(2)",
    "SQRT1_2": "math.sqrt(0.5)",
    "2_SQRTPI": "(2.0 / math.sqrt(math.pi))",
    "1_PI": "(1.0 / math.pi)",
    "2_PI": "(2.0 / math.pi)",
}
# Names of the problem file that no statement of the driver defines.
GIVEN = {"torch", "nn", "F", "math", "to", "div", "std_get", "slice", "min", "max", "abs", "pow"}
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
    r"^(?:(?:const|static|constexpr)\s+)*(%s)\s*(?:const\s+)?(?=[A-Za-z_])" % TYPES
)
NAME = re.compile(r"[A-Za-z_]\w*")
BLOCK = re.compile(r"(if|for|while|else|do|try|catch)\b|\{")


class Statement:
    def __init__(self, line, target, code, kind):
        self.line, self.target, self.code, self.kind = line, target, code, kind
        self.names = names_in(code)


def refuse(what, line, todo):
    where = "driver.cpp:%d" % line if line else "driver.cpp"
    raise load.LoadError(what, where, todo)


# ---- text of C++ ---------------------------------------------------------------------------------


def without_comments(text):
    """Returns the text without comments, with all line breaks."""

    def blank(match):
        word = match.group(0)
        return word if word.startswith(('"', "'")) else re.sub(r"[^\n]", " ", word)

    return re.sub(
        r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'', blank, text, flags=re.S
    )


def closing(text, start):
    """Returns the index behind the bracket that closes the one at `start`."""
    pairs, depth = {"(": ")", "{": "}", "[": "]"}, 0
    for i in range(start, len(text)):
        if text[i] in pairs:
            depth += 1
        elif text[i] in pairs.values():
            depth -= 1
            if depth == 0:
                return i + 1
    return len(text)


def split(text, mark):
    """Returns (offset, part) of a text that is split at a mark outside of brackets."""
    depth, begin, parts = 0, 0, []
    for i, c in enumerate(text):
        depth += (c in "({[") - (c in ")}]")
        if c == mark and depth == 0:
            parts.append((begin, text[begin:i]))
            begin = i + 1
    parts.append((begin, text[begin:]))
    return parts


def pieces(body):
    """Returns (offset, text) of the statements of a block. A block that follows if or for is part
    of its statement."""
    at, found = 0, []
    while at < len(body):
        if body[at] in " \t\n;":
            at += 1
            continue
        end = at
        while end < len(body) and body[end] != ";":
            if body[end] in "({[":
                end = closing(body, end)
                if body[end - 1] == "}" and re.match(BLOCK, body[at:]):
                    rest = re.match(r"\s*else\b", body[end:])
                    if not rest:
                        break
            else:
                end += 1
        found.append((at, body[at:end].strip()))
        at = end + 1 if end < len(body) and body[end] == ";" else max(end, at + 1)
    return found


# ---- expressions ---------------------------------------------------------------------------------


def python(text):
    """Returns an expression of C++ as Python's. Texts in quotes stay as they are."""
    quoted = re.findall(r'"(?:\\.|[^"\\])*"', text)
    code = translated(re.sub(r'"(?:\\.|[^"\\])*"', '"@"', text))
    for word in quoted:
        code = re.sub(r"([\"'])@\1", lambda _: word, code, count=1)
    return code


def translated(text):
    """Returns an expression of C++ without texts as Python's."""
    text = re.sub(r"\s+", " ", text).strip()
    text = re.sub(r"torch::nn::functional::|\bF::", "F.", text)
    text = re.sub(r"torch::nn::init::", "nn.init.", text)
    text = re.sub(r"torch::nn::", "nn.", text)
    text = re.sub(r"\b(?:torch::indexing::|(?<!:))Slice\(\)", "slice(None)", text)
    text = re.sub(r"\b(?:torch::indexing::|(?<!:))Slice\(", "slice(", text)
    text = re.sub(r"\b(?:torch|at)::", "torch.", text)
    text = re.sub(r"\bc10::(?:scalarTypeToTypeMeta|nullopt)\b", "None", text)
    text = re.sub(r"\bstd::get<(\d+)>\s*\(", r"std_get(\1, ", text)
    text = re.sub(r"\bstd::numeric_limits<\w+>::infinity\(\)|\bINFINITY\b", "math.inf", text)
    text = re.sub(r"\bM_(\w+)\b", lambda m: NUMBERS.get(m.group(1), m.group(0)), text)
    text = re.sub(r"\b([A-Za-z_][\w.>-]*)\.defined\(\)", r"(\1 is not None)", text)
    text = re.sub(r"\bstd::make_shared<nn\.(\w+)Impl>", r"nn.\1", text)
    text = re.sub(r"\bstd::nullopt\b", "None", text)
    text = re.sub(r"\bstd::(min|max|pow|abs)\b", r"\1", text)
    text = re.sub(r"\bstd::(sqrt|exp|log|tanh)f?\b", r"math.\1", text)
    text = re.sub(r"\bstd::vector<[\w:<> ]+>\s*(?=\{|\()", "", text)
    text = re.sub(
        r"\b(static_cast|reinterpret_cast|const_cast)<[^<>]*(<[^<>]*>)?[^<>]*>\s*\(", "(", text
    )
    text = re.sub(
        r"\((?:const )?(?:void|float|double|int|int64_t|half|__half|at::Half)\s*\*?\)\s*(?=[\w(])",
        "",
        text,
    )
    text = re.sub(r"(data_ptr|item)<[\w:. ]+>\(", r"\1(", text)
    text = re.sub(
        r"(?<![\w.])(\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+)(?:[fFlL]|LL|ll|UL|ul|u)\b", r"\1", text
    )
    text = (
        text.replace("->", ".")
        .replace("&&", " and ")
        .replace("||", " or ")
        .replace("{nullptr}", "")
    )
    text = re.sub(r"!(?!=)", " not ", text)
    text = re.sub(r"\btrue\b", "True", text)
    text = re.sub(r"\bfalse\b", "False", text)
    text = re.sub(r"\b(nullptr|NULL)\b", "None", text)
    text = re.sub(r"(?<=[\w)\]])\.forward\(", "(", text)
    text = re.sub(r"\bthis\.", "self.", text)
    text = text.replace(".data()", ".data").replace(".sizes()", ".shape")
    text = text.replace(".scalar_type()", ".dtype")
    # A device is the judge's affair.
    text = re.sub(r"(?<=\))\.to\((?:torch\.kCUDA|device),?\s*", ".to(", text)
    text = text.replace(").to()", ")")
    text = text.replace("{", "[").replace("}", "]")
    text = re.sub(r"([A-Za-z_][\w.]*)\.to\(", r"to(\1, ", text)
    text = re.sub(r"([A-Za-z_][\w.]*)\.set_data\(", r"set_data(\1, ", text)
    text = re.sub(r"([A-Za-z_][\w.]*)\.index\(", r"index(\1, ", text)
    return divided(ternaries(text).strip())


class Divisions(ast.NodeTransformer):
    """Makes a call of each division: C++ truncates a quotient of integers."""

    def visit_BinOp(self, node):
        self.generic_visit(node)
        if not isinstance(node.op, ast.Div):
            return node
        return ast.Call(ast.Name("div", ast.Load()), [node.left, node.right], [])


def divided(code):
    if "/" not in code:
        return code
    try:
        return ast.unparse(ast.fix_missing_locations(Divisions().visit(ast.parse(code))))
    except SyntaxError:
        return code


def ternaries(text):
    """Returns the text with `a if c else b` for each `c ? a : b`, also in brackets."""
    made, at = "", 0
    while at < len(text):
        end = closing(text, at) if text[at] in "([{" else at + 1
        part = text[at:end]
        made += part[0] + ternaries(part[1:-1]) + part[-1] if len(part) > 1 else part
        at = end
    return ",".join(ternary(part) for _, part in split(made, ","))


def ternary(text):
    head = split(text, "?")
    if len(head) != 2:
        return text
    branches = split(head[1][1], ":")
    if len(branches) != 2:
        return text
    return "(%s) if (%s) else (%s)" % (
        branches[0][1].strip(),
        head[0][1].strip(),
        branches[1][1].strip(),
    )


def names_in(code):
    """Returns the names that a piece of Python reads; all words if it is not Python."""
    try:
        tree = ast.parse(code)
    except SyntaxError:
        return set(NAME.findall(code))
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


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


def is_constant(code, known):
    """True for an expression of numbers and known constants."""
    try:
        tree = ast.parse(code, mode="eval")
    except SyntaxError:
        return False
    allowed = (
        ast.Expression,
        ast.Constant,
        ast.Name,
        ast.Load,
        ast.BinOp,
        ast.UnaryOp,
        ast.operator,
        ast.unaryop,
        ast.List,
        ast.Tuple,
        ast.Compare,
        ast.cmpop,
        ast.BoolOp,
        ast.boolop,
        ast.IfExp,
        ast.Call,
        ast.Subscript,
    )
    return all(
        isinstance(node, allowed)
        and not (isinstance(node, ast.Name) and node.id not in known and node.id != "div")
        for node in ast.walk(tree)
    )


# ---- classes -------------------------------------------------------------------------------------


def parameters_of(text):
    """Returns the names of a parameter list."""
    names = []
    for _, part in split(text, ","):
        head = part.split("=")[0].strip()
        if head:
            names.append(NAME.findall(head)[-1])
    return names


def with_self(code, members):
    if not members:
        return code
    return re.sub(
        r"(?<![\w.\"'])(%s)\b(?!\s*=[^=])" % "|".join(map(re.escape, sorted(members))),
        r"self.\1",
        code,
    )


def class_of(name, body, line):
    """Returns a class of C++ as lines of Python."""
    members, init, forward, parameters = [], [], None, []
    rest = re.sub(r"\b(public|private|protected)\s*:", "", body)
    at, found = 0, []
    while at < len(rest):
        brace, semicolon = rest.find("{", at), rest.find(";", at)
        paren = rest.find("(", at)
        if semicolon < 0 and brace < 0:
            break
        head = rest[at : semicolon if semicolon >= 0 else len(rest)]
        function = paren >= 0 and (semicolon < 0 or paren < semicolon)
        if not function:
            found.append(("member", head.strip()))
            at = semicolon + 1
            continue
        end = closing(rest, paren)
        after = rest[end:]
        listed = re.match(r"\s*:\s*(?!:)", after)
        where = end
        if listed:
            where = end + listed.end()
            while where < len(rest):
                opening = re.compile(r"[({]").search(rest, where)
                if not opening:
                    break
                where = closing(rest, opening.start())
                if not re.match(r"\s*,", rest[where:]):
                    break
        start = rest.find("{", where)
        gap = rest[where:start] if start >= 0 else ""
        if start < 0 or re.sub(r"\b(override|const)\b", "", gap).strip():
            found.append(("member", head.strip()))
            at = (semicolon if semicolon >= 0 else len(rest)) + 1
            continue
        stop = closing(rest, start)
        found.append(
            (
                "function",
                rest[at:paren].strip(),
                rest[paren + 1 : end - 1],
                rest[end + listed.end() : where] if listed else "",
                rest[start + 1 : stop - 1],
            )
        )
        at = stop
    for entry in found:
        if entry[0] == "member" and entry[1]:
            given = re.match(r"^[^={(]*?(\w+)\s*=([^=].*)$", entry[1], re.S)
            if given:
                init.append("self.%s = %s" % (given.group(1), python(given.group(2))))
            text = re.sub(r"=.*|\{.*?\}", "", entry[1], flags=re.S)
            text = DECLARATION.sub("", text) if DECLARATION.match(text) else text.split(None, 1)[-1]
            members += [NAME.findall(part)[0] for _, part in split(text, ",") if NAME.findall(part)]
    for entry in found:
        if entry[0] != "function":
            continue
        _, head, given, listed, inner = entry
        if head.split()[-1] == name:
            parameters = parameters_of(given)
            for _, part in split(listed, ","):
                opening = re.search(r"[({]", part)
                if opening:
                    member = part[: opening.start()].strip()
                    init.append(
                        made(
                            member,
                            part[opening.start() + 1 : part.rstrip().rfind(part.rstrip()[-1])],
                            entry_type(found, member),
                        )
                    )
            for offset, statement in pieces(inner):
                init += method_line(statement, members, line, parameters)
        elif head.split()[-1] == "forward":
            forward = (parameters_of(given), [])
            for offset, statement in pieces(inner):
                forward[1].extend(method_line(statement, members, line, forward[0]))
    if forward is None:
        refuse("class %s has no forward" % name, line, "compute the reference in a method forward")
    lines = [
        "class %s(python_nn.Module):" % name,
        "    def __init__(self, %s):" % ", ".join(parameters),
    ]
    lines += ["        super().__init__()"] + ["        " + each for each in init] + [""]
    lines += ["    def forward(self, %s):" % ", ".join(forward[0])]
    lines += ["        " + each for each in forward[1]]
    lines += ["", "    def to(self, *arguments):", "        return module_to(self, *arguments)"]
    return lines


def entry_type(found, member):
    """Returns the type of a member: "nn.Linear"."""
    for entry in found:
        if entry[0] == "member" and re.search(r"\b%s\b" % re.escape(member), entry[1]):
            word = re.match(r"(?:const\s+)?([\w:]+)", entry[1]).group(1)
            return python(word) if word.startswith("torch::nn::") else ""
    return ""


def made(member, inner, kind):
    """Returns the assignment to a member in an initialiser list."""
    registered = re.match(r"^\s*register_(?:module|parameter|buffer)\((.*)\)\s*$", inner, re.S)
    if registered:
        return "self.%s = %s" % (member, python(split(registered.group(1), ",")[1][1]))
    return (
        "self.%s = %s(%s)" % (member, kind, python(inner))
        if kind
        else "self.%s = %s" % (member, python(inner) or "None")
    )


def method_line(statement, members, line, local):
    """Returns a statement of a method as lines of Python."""
    if SKIPPED.match(statement) and not statement.startswith("return"):
        return []
    own = [m for m in members if m not in local]
    if statement.startswith("return"):
        return [check_in_function("return " + with_self(python(statement[6:]), own), line)]
    found = re.match(
        r"^(register_module|register_parameter|register_buffer)\((.*)\)$", statement, re.S
    )
    if found:
        arguments = [python(part) for _, part in split(found.group(2), ",")]
        if found.group(1) == "register_module":
            return []
        return [
            "self.%s(%s)"
            % (found.group(1), ", ".join([arguments[0], with_self(arguments[1], own)]))
        ]
    target, code, _ = declared(statement)
    if target is None:
        return [check(with_self(python(statement), own), line)]
    found = re.match(r"^(register_module|register_parameter|register_buffer)\((.*)\)$", code, re.S)
    if found:
        arguments = [part.strip() for _, part in split(found.group(2), ",")]
        value = with_self(arguments[1], own)
        if found.group(1) == "register_parameter":
            value = "python_nn.Parameter(%s)" % value
            return ["self.%s = %s" % (target, value)]
        if found.group(1) == "register_buffer":
            return ["self.register_buffer(%s, %s)" % (arguments[0], value)]
        return ["self.%s = %s" % (target, value)]
    left = "self." + target if target in own else target
    return [check("%s = %s" % (left, with_self(code, own)), line)]


def check_in_function(code, line):
    check("def f():\n    " + code, line)
    return code


# ---- statements of main --------------------------------------------------------------------------


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


class Driver:
    """main() of a driver, read."""

    def __init__(self, text):
        # Names of C++ that are words of Python.
        self.text = re.sub(
            r"\b(in|is|lambda|pass|from|def|with|as|del)\b", r"\1_", without_comments(text)
        )
        # The problem file has a class Model of its own.
        self.text = re.sub(r"\bModel(Impl)?\b", r"DriverModel\1", self.text)
        self.constants, self.statements, self.classes = {}, [], []
        self.call, self.compared, self.functions = None, None, set()
        self.class_names = []
        self.read_functions()
        self.read_classes()
        main = re.search(r"\bint\s+main\s*\([^)]*\)\s*\{", self.text)
        if not main:
            refuse("it has no main()", 0, "add main(), which calls the kernel and its reference")
        start = main.end() - 1
        self.body_start = start + 1
        for offset, statement in pieces(self.text[start + 1 : closing(self.text, start) - 1]):
            self.read(statement, self.line_of(self.body_start + offset))

    def line_of(self, offset):
        return self.text.count("\n", 0, offset) + 1

    def read_functions(self):
        """Reads functions that return a tensor, outside of classes."""
        depth = 0
        for found in re.finditer(
            r"[{}]|\b(?:torch|at)::Tensor\s+(\w+)\s*\(([^()]*(?:\([^()]*\)[^()]*)*)\)\s*(?=\{)",
            self.text,
        ):
            depth += {"{": 1, "}": -1}.get(found.group(0), 0)
            if not found.group(1) or depth:
                continue
            start, line = found.end(), self.line_of(found.start())
            parameters = parameters_of(found.group(2))
            self.classes.append("def %s(%s):" % (found.group(1), ", ".join(parameters)))
            for _, part in pieces(self.text[start + 1 : closing(self.text, start) - 1]):
                self.classes += ["    " + each for each in method_line(part, [], line, parameters)]
            self.classes += ["", ""]
            self.functions.add(found.group(1))

    def read_classes(self):
        heads = r"\b(?:struct|class)\s+(\w+)\s*(?:final\s*)?(?::[^{;]*)?\{"
        for found in re.finditer(heads, self.text):
            start = found.end() - 1
            if not re.search(r"\bforward\s*\(", self.text[start : closing(self.text, start)]):
                continue
            self.class_names.append(found.group(1))
            self.classes += class_of(
                found.group(1),
                self.text[start + 1 : closing(self.text, start) - 1],
                self.line_of(found.start()),
            ) + ["", ""]

        # TORCH_MODULE(Name) makes a handle Name of class NameImpl.
        for found in re.finditer(r"\bTORCH_MODULE\((\w+)\)", self.text):
            if found.group(1) + "Impl" in self.class_names:
                self.class_names.append(found.group(1))
                self.classes += ["%s = %sImpl" % (found.group(1), found.group(1)), "", ""]

    def read(self, statement, line):
        if re.match(r"catch\b", statement):
            return
        tried = re.match(r"try\s*\{", statement)
        if tried:
            for _, part in pieces(statement[tried.end() : closing(statement, tried.end() - 1) - 1]):
                self.read(part, line)
            return
        compared = re.search(r"\ballclose\w*\s*\((.*)$", statement, re.S)
        if compared and self.call:
            start = statement.index("allclose") + len("allclose")
            start = statement.index("(", start)
            inner = statement[start + 1 : closing(statement, start) - 1]
            if not self.compared:
                self.compared = [python(part) for _, part in split(inner, ",")], line
            return
        if SKIPPED.match(statement) or not statement:
            return
        launched = re.match(r"^(launch\w*|run\w*kernel\w*|solve)\s*\(", statement)
        if launched:
            start = statement.index("(")
            inner = statement[start + 1 : closing(statement, start) - 1]
            self.call = launched.group(1), [python(part) for _, part in split(inner, ",")], line
            return
        inner = self.decided(statement)
        if inner is not None:
            for _, part in pieces(inner):
                self.read(part, line)
            return
        if re.match(BLOCK, statement):
            self.statements.append(Statement(line, None, statement, "block"))
            return
        for name in self.class_names:
            found = re.match(r"^%s\s+(\w+)\s*(?:[({](.*)[)}])?$" % name, statement, re.S)
            if found:
                inner = re.sub(
                    r"^\s*%sImpl\((.*)\)\s*$" % name, r"\1", found.group(2) or "", flags=re.S
                )
                code = "%s(%s)" % (name, python(inner))
                self.statements.append(Statement(line, found.group(1), check(code, line), "module"))
                return
        for part in declarators(statement):
            self.read_one(part, line)

    def decided(self, statement):
        """Returns the statements of a block, or of the branch that constants choose; else
        None."""
        if statement.startswith("{"):
            return statement[1:-1]
        found = re.match(r"if\s*\(", statement)
        if not found:
            return None
        end = closing(statement, found.end() - 1)
        value = resolve(python(statement[found.end() : end - 1]), self.constants)
        if value is None:
            return None
        then = statement[end:].strip()
        stop = closing(then, 0) if then.startswith("{") else len(then)
        branches = then[:stop], re.sub(r"^\s*else\b", "", then[stop:]).strip()
        chosen = branches[0 if value else 1]
        return chosen[1:-1] if chosen.startswith("{") else chosen

    def read_one(self, statement, line):
        target, code, kind = declared(statement)
        if target is None:
            code = python(statement)
            owner = re.match(r"\w*", code).group(0)
            settings = {s.target for s in self.statements if s.kind == "setup"}
            if owner in settings:  # options.stride(2); changes the options themselves
                self.statements.append(Statement(line, owner, code, "setup"))
                return
            # A tensor of a module gets other numbers.
            given = re.match(r"^(\w+(?:\.\w+)+)\s*=(?!=)\s*(.*)$", code, re.S)
            code = "set_data(%s, %s)" % given.groups() if given else code
            self.statements.append(Statement(line, None, code, "call"))
            return
        if (
            is_constant(code, self.constants)
            and not kind.startswith(("torch", "void"))
            and target not in self.constants
        ):
            self.constants[target] = code
            return
        shared = re.match(r"^std::make_(?:shared|unique)<(\w+)>\s*\((.*)\)$", code)
        if shared:
            code = "%s(%s)" % shared.groups()
        for name in self.class_names:
            code = re.sub(r"^%s\[(.*)\]$" % name, r"%s(\1)" % name, code)
        settings = {s.target for s in self.statements if s.kind == "setup"}
        if FACTORY.match(code) or (
            DRAWS.search(code) and names_in(code) <= GIVEN | settings | set(self.constants)
        ):
            role = "tensor"
        elif re.match(r"^(torch\.(k\w+|Device|TensorOptions|dtype|device)\b|nn\.\w+Options)", code):
            role = "setup"
        elif re.match(r"^nn\.\w+\(", code) or any(
            code.startswith(n + "(") for n in self.class_names
        ):
            role = "module"
        else:
            role = "compute"
        self.statements.append(Statement(line, target, code, role))

    # ---- what leads to what ----------------------------------------------------------------------

    def source_of(self, code):
        """Returns the tensor behind a pointer: "linear.weight" of linear.weight.data_ptr()."""
        code = code.strip()
        while code.startswith("(") and closing(code, 0) == len(code):
            code = code[1:-1].strip()
        found = re.match(r"^(.*?)(?:\.(contiguous|detach|clone)\(\))*\.data_ptr\(\)$", code)
        if found:
            return found.group(1)
        found = re.match(r"^\(*(.+?)\)? if \((.*)\) else \(None\)$", code)
        if found:
            absent = resolve(found.group(2), self.constants) in (False, 0)
            return None if absent else self.source_of(found.group(1))
        for statement in reversed(self.statements):
            if (
                statement.target == code
                and statement.kind == "compute"
                and "data_ptr" in statement.code
            ):
                return self.source_of(statement.code)
        return None

    def compared_tensor(self, code):
        """Returns the tensor behind a converted one: ref of `ref_f32 = ref.to(torch::kFloat32)`."""
        code = strip(code)
        for statement in reversed(self.statements):
            if (
                statement.target == code
                and statement.kind == "compute"
                and statement.line > self.call[2]
            ):
                return self.compared_tensor(statement.code)
        return code

    def finish(self):
        """Finds the reference, the inputs and the outputs."""
        if not self.call:
            refuse(
                "it calls no function that starts the kernel",
                0,
                "call launch_gpu_implementation(…)",
            )
        if not self.compared:
            refuse(
                "it compares nothing",
                0,
                "compare the output with torch::allclose(output, reference, …)",
            )
        (_, arguments, line), (compared, where) = self.call, self.compared
        pointers = [self.source_of(a) for a in arguments]
        sides = [self.compared_tensor(c) for c in compared[:2]]
        outputs = [s for s in sides if s in pointers]
        if len(outputs) != 1:
            refuse(
                "allclose compares no output of the call in line %d" % line,
                where,
                "compare the tensor that the call gets by data_ptr()",
            )
        self.output = outputs[0]
        self.reference = sides[1 - sides.index(self.output)]
        self.pointers = [None if p == self.output else p for p in pointers]
        self.arguments = arguments
        self.output_at = pointers.index(self.output)


def strip(code):
    """Returns an expression without conversions for a comparison."""
    return re.sub(
        r"(\.(cpu|contiguous|flatten|detach)\(\)|^to\((\w+),.*\)$)",
        lambda m: m.group(3) or "",
        code,
    )


def translate(bundle):
    files = bundle["files"]
    if len(files) == 1 and "driver.cpp" not in files and "init.cu" not in files:
        from formats import solve_cuda

        return solve_cuda.translate(bundle)
    for name in ("driver.cpp", "init.cu"):
        if name not in files:
            raise load.LoadError("there is no %s" % name, bundle["folder"], "add it")
    driver = Driver(files["driver.cpp"])
    driver.finish()
    needed, chosen = names_in(driver.reference), []
    for statement in reversed(driver.statements):
        if statement.kind == "block":
            inner = set(NAME.findall(statement.code))
            if any(
                re.search(r"\b%s\s*[-+*/]?=(?!=)" % re.escape(n), statement.code)
                for n in needed & inner
            ):
                refuse(
                    "a block decides about the reference",
                    statement.line,
                    "compute it without if and for",
                )
            continue
        late = statement.line > driver.call[2] and re.match(r"\w+\(", statement.code)
        moved = statement.kind == "call" and names_in(statement.code) & needed and not late
        if statement.target in needed or moved:
            chosen.insert(0, statement)
            needed |= statement.names
    init = [s for s in chosen if s.kind in ("module", "setup")]
    modules = {s.target for s in chosen if s.kind == "module"}
    for statement in chosen:
        if statement.kind == "call":
            (init if names_in(statement.code) & modules else []).append(statement)
    # A tensor that becomes a parameter is made where its module is.
    read = set().union(*(s.names for s in init)) if init else set()
    inputs = [s for s in chosen if s.kind == "tensor" and s.target not in read]
    init += [s for s in chosen if s.kind == "tensor" and s.target in read]
    init.sort(key=driver.statements.index)
    drawn = {s.target for s in inputs}
    compute = [s for s in chosen if s.kind == "compute" or (s.kind == "call" and s not in init)]
    init = sorted(with_values(init, compute, drawn), key=driver.statements.index)
    compute = leading_to(driver.reference, compute)
    constants = {n: c for n, c in driver.constants.items()}
    text = write(bundle, driver, constants, inputs, init, compute, drawn, modules)
    tolerance = None
    numbers = [resolve(c, constants) for c in driver.compared[0][2:4]]
    if len(numbers) == 2 and all(isinstance(n, float) for n in numbers):
        tolerance = numbers
        text += "KFORGE_TOLERANCE = %r\n" % tolerance
    return {
        "text": text,
        "doc": bundle["folder"].lstrip("0123456789_").replace("_", " "),
        "solution": None,
        "notes": [],
        "finish": lambda description: finish(files["init.cu"], driver, constants, description),
    }


def finish(text, driver, constants, description):
    """Returns the further files, and a note."""
    from formats import libtorch

    made, note = seed_of(text, driver, constants, description)
    widened = ", ".join(sorted(libtorch.WIDENED))
    if widened:
        words = "this processor has no half precision for %s: computed in float32 and rounded"
        note = "; ".join([words % widened] + ([note] if note else []))
    return made, note


def with_values(init, compute, drawn):
    """Returns the statements of the constructor with those that compute values for them, without
    inputs: weight = bn.weight.clone() of bn.weight.set_data(weight)."""
    read, found = set().union(*(s.names for s in init)) if init else set(), list(init)
    for statement in reversed(compute):
        if statement.target in read and not statement.names & drawn:
            read |= statement.names
            found.append(statement)
    return found


def leading_to(reference, compute):
    """Returns the statements of forward that the reference needs."""
    needed, found = names_in(reference), []
    for statement in reversed(compute):
        if statement.target in needed or statement.target is None:
            needed |= statement.names
            found.insert(0, statement)
    return found


def libtorch_div(a, b):
    from formats import libtorch

    return libtorch.div(a, b)


def resolve(code, constants, patches=()):
    """Returns the value of an expression of constants; None for others. `patches`: other values of
    constants, and of elements of lists ("sizes[0]")."""
    known, patches = {}, dict(patches)
    for name, value in constants.items():
        try:
            known[name] = eval(value, {"__builtins__": {"div": libtorch_div}}, dict(known))
        except Exception:
            continue
        known[name] = patches.get(name, known[name])
        for i in range(len(known[name]) if isinstance(known[name], list) else 0):
            known[name][i] = patches.get("%s[%d]" % (name, i), known[name][i])
    try:
        return eval(code, {"__builtins__": {"min": min, "max": max, "div": libtorch_div}}, known)
    except Exception:
        return None


def write(bundle, driver, constants, inputs, init, compute, drawn, modules):
    settings = [s for s in init if s.kind == "setup"]
    lines = [
        '"""%s: the reference of driver.cpp, in Python."""' % bundle["folder"],
        "import math",
        "",
        "import torch as python_torch",
        "import torch.nn as python_nn",
        "from formats.libtorch import F, div, index, module_to, nn, set_data, std_get, to, torch",
        "",
    ]
    lines += ["%s = %s" % item for item in constants.items()]
    lines += ["%s = %s" % (s.target, check(s.code, s.line)) for s in settings] + ["", ""]
    lines += driver.classes
    lines += [
        "class Model(python_nn.Module):",
        "    @python_torch.no_grad()",
        "    def __init__(self):",
    ]
    lines += ["        super().__init__()"]
    for statement in init:
        if statement.kind == "setup":
            continue
        if statement.target:
            lines.append(
                "        %s = %s" % (statement.target, check(statement.code, statement.line))
            )
        else:
            lines.append("        %s" % check(statement.code, statement.line))
    lines += ["        self.%s = %s" % (m, m) for m in sorted(modules)]
    lines += ["", "    def forward(self, %s):" % ", ".join(s.target for s in inputs)]
    lines += ["        %s = self.%s" % (m, m) for m in sorted(modules)]
    for statement in compute:
        code = check(statement.code, statement.line)
        lines.append(
            "        %s = %s" % (statement.target, code) if statement.target else "        " + code
        )
    lines += ["        return %s" % check(driver.reference, driver.compared[1]), "", ""]
    lines += ["def get_inputs():"]
    lines += ["    %s = %s" % (s.target, check(s.code, s.line)) for s in inputs]
    lines += ["    return [%s]" % ", ".join(s.target for s in inputs), ""]
    return "\n".join(lines)


# ---- the seed ------------------------------------------------------------------------------------

C_TYPES = {
    "f64": "double",
    "f32": "float",
    "f16": "__half",
    "bf16": "__nv_bfloat16",
    "i64": "int64_t",
    "i32": "int32_t",
    "i16": "int16_t",
    "i8": "int8_t",
    "u8": "uint8_t",
    "bool": "bool",
}


def seed_of(text, driver, constants, description):
    """Returns {"init.cu": init.cu with an entry of the task's prototype}, or a note why not."""
    by_source = {a["name"]: a["name"] for a in description["inputs"]}
    by_source.update({a["name"]: a["argument"] for a in description["state"]})
    output = description["outputs"][0]
    parameters = [
        "const %s *%s" % (C_TYPES.get(a["dtype"], "void"), a["name"]) for a in description["inputs"]
    ]
    parameters += [
        "const %s *%s" % (C_TYPES.get(a["dtype"], "void"), a["argument"])
        for a in description["state"]
    ]
    parameters += ["%s *%s" % (C_TYPES.get(output["dtype"], "void"), output["name"])]
    given = []
    for i, (code, source) in enumerate(zip(driver.arguments, driver.pointers)):
        if i == driver.output_at:
            given.append(output["name"])
        elif source is not None:
            name = by_source.get(source) or by_source.get(alias(driver, source))
            if name is None:
                return (
                    {},
                    "no seed: the argument %s of the call is no argument of the task" % source,
                )
            given.append("(void *)" + name)
        else:
            value = resolve(code, constants, description["patches"])
            if code.endswith("else (None)") or is_null(driver, code):
                code = "None"
            if code == "None" or value is None and code == "nullptr":
                given.append("nullptr")
            elif isinstance(value, bool):
                given.append("true" if value else "false")
            elif isinstance(value, (int, float)):
                given.append(repr(value))
            else:
                return {}, "no seed: the value of the argument %s is unknown" % code[:40]
    name = driver.call[0]
    entry = "KFORGE_ENTRY"
    lines = [
        "",
        "/* The entry of the task, added by the import. */",
        'extern "C" void %s(%s, cudaStream_t)' % (entry, ", ".join(parameters)),
        "{",
        "    %s(%s);" % (name, ", ".join(given)),
        "}",
        "",
    ]
    includes = "#include <cstdint>\n#include <cuda_fp16.h>\n"
    return {"init.cu": includes + text.rstrip("\n") + "\n" + "\n".join(lines)}, ""


def is_null(driver, name):
    """True if a pointer's last value is nullptr."""
    values = [s.code for s in driver.statements if s.target == name]
    return values[-1:] == ["None"]


def alias(driver, source):
    """Returns the name behind another name: conv.weight of `weight = conv.weight`."""
    for statement in driver.statements:
        if statement.target == source and statement.kind == "compute":
            code = re.sub(r"(\.(detach|clone|contiguous)\(\))+", "", statement.code)
            code = re.sub(r"^to\(([\w.]+),.*\)$|\.to\([\w.]*\)", r"\1", code)
            return code if re.match(r"^[\w.]+$", code) else source
        # a parameter that got the numbers of a tensor
        given = re.match(
            r"^(?:set_data\()?([\w.]+?)(?:\.copy_\(|,\s*)%s\b" % re.escape(source), statement.code
        )
        if statement.kind == "call" and given:
            return re.sub(r"\.data$", "", given.group(1))
    return source
