"""Reads main() of a driver.cpp: which statements make constants, modules and tensors, which call
starts the kernel, and which tensors are compared."""
import re

from formats.cpp_classes import class_of, method_line, parameters_of
from formats.cpp_expressions import is_constant, names_in, python, resolve
from formats.cpp_statements import SKIPPED, check, declarators, declared, refuse
from formats.cpp_text import BLOCK, closing, pieces, split, without_comments

FACTORIES = ("randn", "rand", "randint", "randperm", "ones", "zeros", "full", "empty", "arange")
FACTORY = re.compile(r"^torch\.(%s)\(" % "|".join(FACTORIES))
DRAWS = re.compile(r"\btorch\.(randn|rand|randint|randperm)\(")
# Names of the problem file that no statement of the driver defines.
GIVEN = {"torch", "nn", "F", "math", "to", "div", "std_get", "slice", "min", "max", "abs", "pow"}


class Statement:
    def __init__(self, line, target, code, kind):
        self.line, self.target, self.code, self.kind = line, target, code, kind
        self.names = names_in(code)


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
        self.called_after = 0  # the number of statements before the call
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
            self.called_after = len(self.statements)
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
                # Other code computes the reference.
                plain = re.fullmatch(r"[\w.]+", strip(statement.code))
                return self.compared_tensor(statement.code) if plain else code
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
