"""Expressions of C++ as Python's, and the values of those that are constant."""
import ast
import re

from formats.cpp_text import closing, split

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
NAME = re.compile(r"[A-Za-z_]\w*")


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
