"""Blocks of C++ (if, for, while) as lines of Python. A statement that is not understood is refused
with its line."""
import ast
import re

from formats.cpp_expressions import python
from formats.cpp_statements import SKIPPED, check, declarators, declared, refuse
from formats.cpp_text import closing, pieces, split

COUNTS = re.compile(r"^(?:(\w+)\s*(\+\+|--)|(\+\+|--)\s*(\w+)|(\w+)\s*([-+])=\s*(.+))$", re.S)
PLACE = re.compile(r"^(\w+(?:\[[^=]*?\]|(?:\.|->)\w+)+)\s*([-+*/]?)=(?!=)(.*)$", re.S)
# std::fill(v.begin(), v.end(), x) and so on
RANGES = re.compile(
    r"^std::(fill|generate|iota)\s*\(\s*(\w+)\.begin\(\)\s*,\s*\w+\.end\(\)\s*,(.*)\)$", re.S
)
LAMBDA = re.compile(
    r"^\s*\[[&=\w\s,]*\]\s*(?:\(\s*\))?\s*(?:mutable\s*)?\{\s*return\b(.*?);?\s*\}$", re.S
)
OVER = re.compile(r"^(?:const\s+)?[\w:<>,\s]+?[\s&*]+(\w+)\s*(?<!:):(?!:)(.*)$", re.S)


def indented(lines):
    return ["    " + line for line in lines] or ["    pass"]


def lines_of(body, line):
    """Returns the statements of a block as lines of Python."""
    found = []
    for _, statement in pieces(body):
        found += block(statement, line)
    return found


def inner_of(text, line):
    """Returns a block, or one statement, as lines."""
    text = text.strip()
    return lines_of(text[1:-1] if text.startswith("{") else text, line)


def block(statement, line):
    """Returns one statement as lines of Python."""
    if statement.startswith("{"):
        return lines_of(statement[1:-1], line)
    head = re.match(r"(if|for|while)\s*(?:constexpr\s*)?\(", statement)
    if not head:
        return simple(statement, line)
    end = closing(statement, head.end() - 1)
    given, rest = statement[head.end() : end - 1], statement[end:].strip()
    if head.group(1) == "while":
        return ["while %s:" % expression(given, line)] + indented(inner_of(rest, line))
    if head.group(1) == "for":
        return loop(given, rest, line)
    stop = closing(rest, 0) if rest.startswith("{") else (rest.find(";") + 1 or len(rest))
    other = re.match(r"[\s;]*else\b", rest[stop:])
    made = ["if %s:" % expression(given, line)]
    made += indented(inner_of(rest[:stop] if other else rest, line))
    if other:
        made += ["else:"] + indented(inner_of(rest[stop + other.end() :], line))
    return made


def expression(text, line):
    return check(python(text), line)


def loop(given, body, line):
    parts = [part.strip() for _, part in split(given, ";")]
    inner = inner_of(body, line)
    if len(parts) == 1:
        over = OVER.match(parts[0])
        if not over:
            refuse(
                "the loop over %s is not understood" % parts[0][:60],
                line,
                "write for (auto x : xs)",
            )
        name, values = over.group(1), expression(over.group(2), line)
        if name not in stored(inner):
            return ["for %s in %s:" % (name, values)] + indented(inner)
        # The loop changes the elements through a reference.
        inner.append("%s[%s_at] = %s" % (values, name, name))
        return ["for %s_at, %s in enumerate(%s):" % (name, name, values)] + indented(inner)
    if len(parts) != 3:
        refuse("the loop over %s is not understood" % given[:60], line, "write for (a; b; c)")
    target, first, _ = declared(parts[0])
    test = re.match(r"^(\w+)\s*(<=?|>=?|!=)(.*)$", parts[1], re.S)
    count = COUNTS.match(parts[2])
    if not (target and test and count) or test.group(1) != target or target in stored(inner):
        if any(line.strip() == "continue" for line in inner):
            refuse(
                "a loop with continue has no plain counter",
                line,
                "count with for (int i = a; i < b; i++)",
            )
        start = ["%s = %s" % (target, check(first, line))] if target else block(parts[0], line)
        condition = expression(parts[1], line) if parts[1] else "True"
        return start + ["while %s:" % condition] + indented(inner + simple(parts[2], line))
    sign = (count.group(2) or count.group(3) or count.group(6))[0]
    step = expression(count.group(7), line) if count.group(7) else "1"
    stop = "(%s)%s" % (
        expression(test.group(3), line),
        {"<=": " + 1", ">=": " - 1"}.get(test.group(2), ""),
    )
    step = step if sign == "+" else "-(%s)" % step
    return ["for %s in range(%s, %s, %s):" % (target, first, stop, step)] + indented(inner)


def simple(statement, line):
    """Returns a statement that is no block as lines."""
    if statement in ("break", "continue", ""):
        return [statement] if statement else []
    if statement.startswith("return"):
        return [check_return(python(statement[6:]), line)]
    if SKIPPED.match(statement):
        return []
    count = COUNTS.match(statement)
    if count and not count.group(7):
        sign = (count.group(2) or count.group(3))[0]
        return ["%s %s= 1" % (count.group(1) or count.group(4), sign)]
    ranged = RANGES.match(statement)
    if ranged:
        return [over_range(*ranged.groups(), line)]
    place = PLACE.match(statement)
    if place and not declared(statement)[0]:
        left, value = check(python(place.group(1)), line), expression(place.group(3), line)
        if place.group(2):
            value = check("%s %s (%s)" % (left, place.group(2), value), line)
        if left.endswith("]"):
            return ["%s = %s" % (left, value)]
        owner, _, member = left.rpartition(".")
        return ["set_member(%s, %r, %s)" % (owner, member, value)]
    found = []
    for part in declarators(statement):
        target, code, _ = declared(part)
        if target is None:
            code = re.sub(r"\.(push_back|emplace_back)\(", ".append(", python(part))
            found.append(check(code, line))
        else:
            found.append("%s = %s" % (target, check(code, line)))
    return found


def over_range(name, values, given, line):
    """Returns the assignment of a standard algorithm to all elements of a vector."""
    if name == "iota":
        return "%s[:] = range(%s, %s + len(%s))" % (values, python(given), python(given), values)
    made = LAMBDA.match(given)
    if name == "generate" and not made:
        refuse("the function of std::generate is not understood", line, "write [&]() { return …; }")
    return "%s[:] = [%s for _ in %s]" % (
        values, expression(made.group(1) if made else given, line), values)


def check_return(code, line):
    check("def f():\n    return " + code, line)
    return "return " + code


def stored(lines):
    """Returns the names to which lines assign."""
    return {
        node.id
        for node in ast.walk(tree_of(lines))
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }


def changed(lines):
    """Returns the names that lines assign to, or change in place, or by a method."""
    inner, aliases = set(), []
    for node in ast.walk(tree_of(lines)):
        if isinstance(node, (ast.Subscript, ast.Attribute)) and isinstance(node.ctx, ast.Store):
            inner |= first_name(node)
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            if isinstance(node.value, (ast.Subscript, ast.Attribute)):
                aliases.append((node.targets[0].id, first_name(node.value)))
        if isinstance(node, ast.For) and isinstance(node.target, ast.Name):
            aliases.append((node.target.id, first_name(node.iter)))
        if isinstance(node, ast.Call):
            inner |= changed_by(node)
    return stored(lines) | by_alias(inner, aliases)


def changed_by(call):
    """Returns the names that a call changes."""
    function = call.func
    first = first_name(call.args[0]) if call.args else set()
    if isinstance(function, ast.Name):
        return first if function.id in ("set_data", "set_member", "to") else set()
    if not isinstance(function, ast.Attribute):
        return set()
    if re.match(r"[a-z]\w*[a-z0-9]_$", function.attr):  # x.fill_(1), nn.init.normal_(x)
        return first_name(function) | first
    return first_name(function) if function.attr in ("append", "to", "eval") else set()


def by_alias(found, aliases):
    """Adds the names behind names that a block changes in place."""
    for alias, names in reversed(aliases):
        found |= names if alias in found else set()
    return found


def tree_of(lines):
    """Returns the syntax tree of lines that may hold return, break and continue."""
    body = ["    " + line for line in lines + ["pass"]]
    return ast.parse("\n".join(["def f():", "  while True:"] + body))


def first_name(node):
    while isinstance(node, (ast.Subscript, ast.Attribute, ast.Call)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return {node.id} if isinstance(node, ast.Name) else set()


def read_by(lines):
    """Returns the names that lines read."""
    return {node.id for node in ast.walk(tree_of(lines)) if isinstance(node, ast.Name)}
