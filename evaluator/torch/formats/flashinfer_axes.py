"""Expressions of axes: "batch * seq // 2", and constraints such as "len_indptr == batch_size + 1".

They come from foreign files, so they are parsed and walked, never executed. write() gives them in
the words of task.json's expressions, where `/` truncates.
"""

import ast
import operator

WORDS = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.FloorDiv: "/",
    ast.Mod: "%",
}
DOES = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
COMPARES = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
MOST_POWER = 64


class Unknown(Exception):
    """The expression has a name or an operation that is not one of axes."""


def parse(text):
    try:
        return ast.parse(str(text).strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise Unknown('"%s" is no expression' % text) from None


def evaluate(node, values):
    """Returns the value of a parsed expression; `values`: of the axes. It may call min()."""
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return node.value
    if isinstance(node, ast.Name):
        if node.id not in values:
            raise Unknown('there is no axis "%s"' % node.id)
        return values[node.id]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.UAdd, ast.USub)):
        value = evaluate(node.operand, values)
        return -value if isinstance(node.op, ast.USub) else value
    if isinstance(node, ast.BinOp) and type(node.op) in DOES:
        left, right = evaluate(node.left, values), evaluate(node.right, values)
        if isinstance(node.op, ast.Pow) and not 0 <= right <= MOST_POWER:
            raise Unknown("a power over %d" % MOST_POWER)
        if isinstance(node.op, (ast.FloorDiv, ast.Mod, ast.Div)) and right == 0:
            raise Unknown("a division by zero")
        return DOES[type(node.op)](left, right)
    if isinstance(node, ast.Call) and node.args and getattr(node.func, "id", None) == "min":
        return min(evaluate(each, values) for each in node.args)
    if isinstance(node, ast.Compare) and all(type(op) in COMPARES for op in node.ops):
        sides = [evaluate(each, values) for each in [node.left, *node.comparators]]
        return all(COMPARES[type(op)](a, b) for op, a, b in zip(node.ops, sides, sides[1:]))
    if isinstance(node, ast.BoolOp):
        parts = [bool(evaluate(each, values)) for each in node.values]
        return all(parts) if isinstance(node.op, ast.And) else any(parts)
    raise Unknown("it has an operation that axes do not have")


def extent(text, values):
    """Returns the whole number that an axis of type expr has."""
    value = evaluate(parse(text), values)
    if value != int(value):
        raise Unknown('"%s" is %g, not a whole number' % (text, value))
    return int(value)


def write(text, names):
    """Returns the expression in the words of task.json; None if those can't say it. `names`: of the
    axes there."""

    def walk(node):
        if isinstance(node, ast.Constant) and type(node.value) is int:
            return str(node.value)
        if isinstance(node, ast.Name):
            return names[node.id]
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return "(-%s)" % walk(node.operand)
        if isinstance(node, ast.BinOp) and type(node.op) in WORDS:
            return "(%s %s %s)" % (walk(node.left), WORDS[type(node.op)], walk(node.right))
        raise KeyError

    try:
        written = walk(parse(text))
    except (KeyError, Unknown):
        return None
    return written[1:-1] if written.startswith("(") else written


def derived(constraints, variables, known):
    """Returns {axis: expression} of constraints "AXIS == …": variables that follow from others.
    `known`: all axes."""
    found = {}
    for text in constraints:
        try:
            node = parse(text)
        except Unknown:
            continue
        if not isinstance(node, ast.Compare) or [type(op) for op in node.ops] != [ast.Eq]:
            continue
        for one, other in ((node.left, node.comparators[0]), (node.comparators[0], node.left)):
            used = {each.id for each in ast.walk(other) if isinstance(each, ast.Name)}
            plain = isinstance(one, ast.Name) and one.id in variables and one.id not in found
            if plain and one.id not in used and used <= set(known) - set(found):
                found[one.id] = ast.unparse(other)
                break
    return found
