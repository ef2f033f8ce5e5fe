"""Loops of a driver as single statements, for the one use that is safe: a loop with a constant
number of turns that fills a list of modules, and loops over that list. Others stay blocks.
"""

import re

from formats.cpp_expressions import python, resolve
from formats.cpp_text import closing, pieces

MOST_TURNS = 64
COUNTED = re.compile(
    r"for\s*\(\s*(?:const\s+)?(?:auto|int|long|int64_t|size_t)\s+(\w+)\s*=([^;]*);"
    r"\s*\1\s*<([^;=]*);\s*(?:\+\+\s*\1|\1\s*\+\+)\s*\)"
)
EACH = re.compile(r"for\s*\(\s*(?:const\s+)?auto\s*&{0,2}\s*(\w+)\s*:\s*(\w+)\s*\)")
APPENDED = re.compile(r"(\w+)\s*\.\s*push_back\s*\(\s*(\w+)\s*\)$")
MADE = re.compile(r"(?:const\s+)?auto\s+(\w+)\s*=\s*torch::nn::\w+\s*\(")
MOVED = re.compile(r"(\w+)\s*->\s*(?:to|eval)\s*\([^;]*\)$")
FORWARD = re.compile(r"(?:auto\s+)?\w+\s*=\s*(\w+)\s*->\s*forward\s*\(")
# What changes a list. `%s`: its name.
CHANGES = (
    r"\b%s\s*(?:\.\s*(?:push_back|emplace_back|emplace|insert|resize|erase|clear|pop_back|assign|"
    r"swap)\b|=(?!=)|\[[^\]]*\]\s*=(?!=))"
)
ALIAS = re.compile(r"(?:const\s+)?auto\s*&?\s*\w+\s*=\s*\w+(?:\s*(?:->|\.)\s*\w+|\[\s*\w+\s*\])*$")
POINTER = re.compile(
    r"\w+\[\s*\w+\s*\]\s*=\s*(?:[\w>.\-]+\.defined\(\)\s*\?\s*)?[\w>.\-]+\.data_ptr\(\)"
    r"(?:\s*:\s*nullptr)?$"
)


def named(text, name, other):
    """Returns a text with another name for a variable."""
    return re.sub(r"(?<![\w.])(?<!->)%s\b" % re.escape(name), other, text)


def body_of(statement, end):
    """Returns the statements of a loop."""
    body = statement[end:].strip()
    if body.startswith("{"):
        body = body[1 : closing(body, 0) - 1]
    return [part for _, part in pieces(body)]


def unrolled(statement, text, constants, lists):
    """Returns the statements of all turns; None for a loop that stays a block. `text`: the driver.
    `lists`: {list: its modules}, to which a loop that fills one adds it."""
    found = EACH.match(statement)
    if found and found.group(2) in lists:
        name, parts = found.group(1), body_of(statement, found.end())
        if not parts or not all(
            (m := FORWARD.match(part)) and m.group(1) == name for part in parts
        ):
            return None
        return [named(part, name, one) for one in lists[found.group(2)] for part in parts]
    found = COUNTED.match(statement)
    if not found:
        return None
    counter, parts = found.group(1), body_of(statement, found.end())
    first, last = (resolve(python(word), constants) for word in found.group(2, 3))
    if type(first) is not int or type(last) is not int or not 0 < last - first <= MOST_TURNS:
        return None
    made = [m.group(1) for part in parts if (m := MADE.match(part))]
    added = APPENDED.match(parts[-1]) if parts else None
    if not added or added.group(2) not in made or not is_new(added.group(1), text):
        return None
    for part in parts[:-1]:
        moved = MOVED.match(part)
        if not MADE.match(part) and not (moved and moved.group(1) in made):
            return None
    if any(re.search(r"\b%s_\d+\b" % re.escape(name), text) for name in made):
        return None
    lists[added.group(1)] = ["%s_%d" % (added.group(2), i) for i in range(first, last)]
    result = []
    for i in range(first, last):
        for part in parts[:-1]:
            for name in made:
                part = named(part, name, "%s_%d" % (name, i))
            result.append(named(part, counter, str(i)))
    return result


def is_new(name, text):
    """True if a list is empty when it is declared, and one statement changes it."""
    declared = re.search(r"\bstd::vector<[\w:<>\s]+>\s+%s\s*;" % re.escape(name), text)
    return bool(declared) and len(re.findall(CHANGES % re.escape(name), text)) == 1


def may_change(code, name):
    """True if a statement may change the modules of a list: it has its name, and does more than
    reserve room or read a pointer."""
    if not re.search(r"\b%s\b" % re.escape(name), code) or reads_pointers(code):
        return False
    return not re.search(r"^%s\.reserve\([^;]*\)$|^[\w.\[\]]+\.data_ptr\(\)$" % name, code)


def reads_pointers(statement):
    """True for a loop that only stores pointers to tensors."""
    found = COUNTED.match(statement)
    parts = body_of(statement, found.end()) if found else []
    parts = [re.sub(r"\s+", " ", part) for part in parts]
    return bool(parts) and all(ALIAS.match(p) or POINTER.match(p) for p in parts)
