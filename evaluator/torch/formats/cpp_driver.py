"""Reads main() of a driver.cpp: which statements make constants, modules and tensors, which call
starts the kernel, and which tensors are compared."""
import re

import load
from formats import cpp_blocks
from formats.cpp_classes import class_of, method_line, parameters_of
from formats.cpp_expressions import is_constant, names_in, python, resolve
from formats.cpp_statements import SKIPPED, check, declarators, declared, refuse
from formats.cpp_text import BLOCK, closing, pieces, split, without_comments

FACTORIES = ("randn", "rand", "randint", "randperm", "ones", "zeros", "full", "empty", "arange")
FACTORY = re.compile(r"^torch\.(%s)\(" % "|".join(FACTORIES))
DRAWS = re.compile(r"\btorch\.(randn|rand|randint|randperm)\(")
# Names of the problem file that no statement of the driver defines.
GIVEN = set("torch nn F math to div std_get slice min max abs pow len range vector_of".split())
RANDOM = r"^(mt19937|default_random_engine|\w+_distribution)\("
WHOLE = r"(?:unsigned\s+)?(?:int|long|int64_t|int32_t|uint32_t|size_t)$"
NUMBER = r"(?:unsigned\s+)?(?:int|long|int64_t|int32_t|uint32_t|size_t|float|double|bool|auto)"


class Statement:
    """`lines`: of a block, as Python. `fault`: why a block is not understood."""

    def __init__(self, line, target, code, kind, lines=None, fault=None):
        self.line, self.target, self.code, self.kind = line, target, code, kind
        self.lines, self.fault = lines, fault
        self.names = cpp_blocks.read_by(lines) if lines else names_in(code)
        self.targets = {target} if target else set()

    def written(self):
        """Returns the statement as lines of Python."""
        if self.lines:
            return self.lines
        code = check(self.code, self.line)
        return ["%s = %s" % (self.target, code) if self.target else code]


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
        self.calls = set()  # their texts
        self.called_after = 0  # the number of statements before the call
        self.class_names, self.structs, self.faults = [], [], {}
        self.read_file()
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

    def read_file(self):
        """Reads constants and macros of the file. Opens its namespaces."""
        for found in re.finditer(r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+(\S.*)$", self.text, re.M):
            self.read_constant(found.group(1), python(found.group(2)))
        lines = r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*$"
        self.text = re.sub(lines, lambda m: "\n" * m.group(0).count("\n"), self.text, flags=re.M)
        while True:
            found = re.search(r"\bnamespace\b[\w\s:]*\{", self.text)
            if not found:
                break
            end = closing(self.text, found.end() - 1)
            blank = re.sub(r"[^\n]", " ", found.group(0))
            self.text = (
                self.text[: found.start()] + blank + self.text[found.end() : end - 1]
                + " " + self.text[end:]
            )
        self.text = re.sub(
            r"\btemplate\s*<[^<>]*>", lambda m: re.sub(r"[^\n]", " ", m.group(0)), self.text
        )
        outer, at = "", 0
        for found in re.finditer(r"\)[\w\s:]*\{|\b(?:struct|class|enum)\b[^;{()]*\{", self.text):
            if found.start() >= at:
                outer += self.text[at : found.start()] + ";"
                at = closing(self.text, found.end() - 1)
        for _, statement in pieces(outer + self.text[at:]):
            if re.match(r"(static|const|constexpr|inline)\b", statement):
                for part in declarators(re.sub(r"^(static|inline)\s+", "", statement)):
                    target, code, _ = declared(part)
                    if target and code != "None":
                        self.read_constant(target, code)

    def read_constant(self, name, code):
        if is_constant(code, self.constants):
            self.constants.setdefault(name, code)

    def read_number_functions(self):
        """Reads functions that return a number. One that is not understood is refused where it is
        called."""
        heads = r"\b%s\s+(?!main\b)(\w+)\s*\(([^()]*)\)\s*(?:const\s*)?\{" % NUMBER
        for found in re.finditer(heads, self.text):
            start, line = found.end() - 1, self.line_of(found.start())
            inside = self.text.count("{", 0, start) - self.text.count("}", 0, start)
            name = found.group(1)
            if inside or name in ("if", "for", "while"):
                continue
            try:
                inner = self.text[start + 1 : closing(self.text, start) - 1]
                body = cpp_blocks.lines_of(inner, line)
            except load.LoadError as fault:
                self.faults[name] = fault
                continue
            head = "def %s(%s):" % (name, ", ".join(parameters_of(found.group(2))))
            self.number_lines += [head] + cpp_blocks.indented(body) + ["", ""]
            self.number_functions.add(name)

    def read_struct(self, name, body, line):
        """Reads a struct of values."""
        values = []
        for _, part in pieces(body):
            for each in declarators(part):
                target, code, kind = declared(each)
                if not target:
                    return
                values.append((target, "vector_of(%s)" % code if code.startswith("[") else code))
        self.structs.append(name)
        self.number_lines += [
            "class %s:" % name,
            "    def __init__(self, *given):",
            "        values = [%s]" % ", ".join(code for _, code in values),
            "        values[: len(given)] = given",
            "        for name, value in zip(%r, values):" % ([name for name, _ in values],),
            "            setattr(self, name, value)",
            "",
            "",
        ] if values else []

    def read_functions(self):
        """Reads functions that return a tensor, outside of classes."""
        self.number_lines, self.number_functions = [], set()
        self.read_number_functions()
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
            body = self.text[start + 1 : closing(self.text, start) - 1]
            self.classes += cpp_blocks.indented(cpp_blocks.lines_of(body, line)) + ["", ""]
            self.functions.add(found.group(1))
        for name in self.functions | self.number_functions:  # half<float>(x)
            self.text = re.sub(r"\b%s\s*<[^<>();]*>\s*\(" % name, name + "(", self.text)

    def read_classes(self):
        heads = r"\b(?:struct|class)\s+(\w+)\s*(?:final\s*)?(?::[^{;]*)?\{"
        for found in re.finditer(heads, self.text):
            start = found.end() - 1
            if not re.search(r"\bforward\s*\(", self.text[start : closing(self.text, start)]):
                body = self.text[start + 1 : closing(self.text, start) - 1]
                self.read_struct(found.group(1), body, self.line_of(found.start()))
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
        launched = re.match(
            r"^((?:launch\w*|run\w*kernel\w*|solve)(?:\s*<[^<>();]*>)?)\s*\(", statement
        )
        if launched:
            start = statement.index("(")
            inner = statement[start + 1 : closing(statement, start) - 1]
            self.calls.add(" ".join(statement.split()))
            self.call = launched.group(1), [python(part) for _, part in split(inner, ",")], line
            self.called_after = len(self.statements)
            return
        inner = self.decided(statement)
        if inner is not None:
            for _, part in pieces(inner):
                self.read(part, line)
            return
        if re.match(BLOCK, statement) or cpp_blocks.RANGES.match(statement):
            self.read_block(statement, line)
            return
        for name in self.structs:
            found = re.match(
                r"^(?:const\s+)?(?:%s|auto)\s+(\w+)\s*=?\s*(?:%s)?\s*([({].*)?$" % (name, name),
                statement,
                re.S,
            )
            if found and re.search(r"\b%s\b" % name, statement):
                inner = (found.group(2) or "()").strip()[1:-1]
                code = "%s(%s)" % (name, python(inner))
                self.statements.append(Statement(line, found.group(1), check(code, line), "setup"))
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

    def read_block(self, statement, line):
        """Reads a block. It matters if it changes a name from before."""
        lines, fault = None, None
        try:
            lines = cpp_blocks.block(statement, line)
        except load.LoadError as reason:
            fault = reason
        known = set(self.constants).union(*(s.targets for s in self.statements))
        made = Statement(line, None, statement, "block", lines, fault)
        made.targets = known & (cpp_blocks.changed(lines) if lines else made.names)
        if lines:
            # A constant that it changes has its value from before at each call.
            own = [n for n in sorted(made.targets) if n in self.constants]
            made.lines = ["%s = %s" % (n, self.constants[n]) for n in own] + lines
            made.kind = self.kind_of_block(made)
        self.statements.append(made)

    def kind_of_block(self, made):
        kinds = {s.target: s.kind for s in self.statements if s.target}
        of_targets = {kinds.get(n) for n in made.targets} - {None}
        if of_targets and of_targets <= {"module"}:
            return "module"
        outer = made.names - made.targets - set(self.constants) - GIVEN
        if "draw" in {kinds.get(n) for n in made.names} and {
            kinds.get(n, "local") for n in outer
        } <= {"draw", "setup", "local"}:
            for statement in self.statements:  # its values are drawn, too
                if statement.target in made.targets:
                    statement.kind = "draw"
            return "draw"
        return "compute"

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
            member = re.match(r"^(\w+)\.(\w+)\s*=(?!=)\s*(.*)$", code, re.S)
            if owner in settings and member:
                code = "with_member(%s, %r, %s)" % member.groups()
            if owner in settings:  # options.stride(2); changes the options themselves
                self.statements.append(Statement(line, owner, code, "setup"))
                return
            if code.split("[")[0].split(".")[0] in {s.target for s in self.statements} and (
                cpp_blocks.PLACE.match(statement) and "]" in statement.split("=")[0]
                or ".push_back(" in code or ".emplace_back(" in code
            ):
                self.read_block(statement, line)
                return
            # A tensor of a module gets other numbers.
            given = re.match(r"^(\w+(?:\.\w+)+)\s*=(?!=)\s*(.*)$", code, re.S)
            code = "set_data(%s, %s)" % given.groups() if given else code
            self.statements.append(Statement(line, None, code, "call"))
            return
        if (
            is_constant(code, self.constants)
            and not kind.startswith(("torch", "void"))
            and code != "[]"
            and target not in self.constants
        ):
            if re.match(WHOLE, kind) and isinstance(resolve(code, self.constants), float):
                code = "int(%s)" % code
            self.constants[target] = code
            return
        shared = re.match(r"^std::make_(?:shared|unique)<(\w+)>\s*\((.*)\)$", code)
        if shared:
            code = "%s(%s)" % shared.groups()
        for name in self.class_names:
            code = re.sub(r"^%s\[(.*)\]$" % name, r"%s(\1)" % name, code)
        settings = {s.target for s in self.statements if s.kind == "setup"}
        drawn = {s.target for s in self.statements if s.kind == "draw"}
        plain = GIVEN | settings | set(self.constants) | self.number_functions
        if kind.startswith("std::vector<") and (
            "nn::" in kind or any(re.search(r"\b%s\b" % n, kind) for n in self.class_names)
        ):
            if code == "[]":
                self.statements.append(Statement(line, target, "python_nn.ModuleList()", "module"))
                return
        if re.match(RANDOM, code):
            role = "draw"
        elif names_in(code) & drawn and names_in(code) <= plain | drawn:
            role = "tensor" if code.startswith(("torch.", "to(")) else "draw"
        elif names_in(code) <= plain and re.match(NUMBER + "$", kind) and (
            kind != "auto" or re.match(r"(%s)\(" % "|".join(self.number_functions or "-"), code)
        ):
            role = "setup"
        elif FACTORY.match(code) or (
            DRAWS.search(code) and names_in(code) <= plain
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
