"""Classes and methods of C++ (torch::nn::Module) as Python's."""
import re

from formats.cpp_expressions import NAME, python
from formats.cpp_statements import DECLARATION, SKIPPED, check, check_in_function, declared, refuse
from formats.cpp_text import closing, pieces, split


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
        # register_parameter("w", w = torch::randn(…))
        assigned = re.match(r"^(\w+)\s*=(?!=)\s*(.*)$", arguments[1], re.S)
        if assigned and assigned.group(1) in own:
            arguments[1] = assigned.group(2)
        if assigned and found.group(1) == "register_parameter":
            value = with_self(arguments[1], own)
            return ["self.%s = python_nn.Parameter(%s)" % (assigned.group(1), value)]
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
