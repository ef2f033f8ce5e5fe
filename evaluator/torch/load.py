"""Loads a problem file in KernelBench's layout: class Model, get_inputs(), get_init_inputs().

A file may define module-level constants (batch_size = 4096) from which others follow. To make a
problem smaller, they are patched in the syntax tree before the file runs. So values that are
computed from them follow. The text is executed as a module with a name of its own, never
"__main__". sys.modules and linecache know the module, since torch.jit and inspect need them.

runner.py and describe.py use it, both in the sandbox, because a problem file is foreign code. It
needs nothing beyond PyTorch 1.13.
"""
import ast
import difflib
import fcntl
import hashlib
import inspect
import json
import linecache
import math
import os
import random
import sys
import traceback
import types

import structure

SOLUTION_CLASS = "ModelNew"
SEED = 42  # KernelBench sets it before each constructor.


class LoadError(Exception):
    """A fault of a file: what is wrong, where, and what to do."""

    def __init__(self, what, where, todo=""):
        super().__init__("%s: %s%s" % (where, what, "; " + todo if todo else ""))
        self.what, self.where, self.todo = what, where, todo

    def as_json(self):
        return {"error": {"what": self.what, "where": self.where, "todo": self.todo}}


class Answer:
    """The way of a result to kforge, apart from the output of the code that is described.

    kforge leaves a secret in the descriptor's file, and takes a result only with the hash of secret
    and result. So a text that other code writes to the descriptor is no result. Programs that the
    code starts have no such descriptor. Without a descriptor the result is printed.
    """

    def __init__(self, descriptor):
        self._seal = None
        if descriptor < 0:
            self._file = sys.stdout
            return
        moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, descriptor + 1)
        os.close(descriptor)
        secret, sha256 = os.pread(moved, 64, 0), hashlib.sha256
        os.ftruncate(moved, 0)
        os.lseek(moved, 0, os.SEEK_SET)
        self._seal = lambda text: sha256(secret + text + secret).hexdigest()
        self._file = os.fdopen(moved, "w", encoding="utf-8")

    def write(self, result):
        text = json.dumps(result)
        if self._seal:
            self._file.write(self._seal(text.encode("utf-8")) + "\n")
        self._file.write(text)
        self._file.flush()


def place_of(error, name):
    """Returns "FILE:LINE" of the innermost frame of `error` in the file `name`, or only the name.
    """
    line = None
    for frame in traceback.extract_tb(error.__traceback__):
        if frame.filename == name:
            line = frame.lineno
    return "%s:%d" % (name, line) if line else name


def words_of(error):
    """Returns the exception's type and message in one line."""
    text = " ".join(str(error).split())
    return "%s: %s" % (type(error).__name__, text[:300]) if text else type(error).__name__


def remedy_of(error):
    """Returns what to do about an exception of a file that is imported."""
    if not isinstance(error, ModuleNotFoundError) or not error.name:
        return "importing it has to work"
    return "install the package for %s, or set KFORGE_PYTHON to a Python that has it" % (
        sys.executable or "Python"
    )


def seed_all(seed=SEED):
    """Seeds PyTorch and all its devices, as KernelBench does, and the other sources that a file may
    draw from."""
    import torch

    torch.manual_seed(seed)
    random.seed(seed)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(seed & 0xFFFFFFFF)


# ---- source --------------------------------------------------------------------------------------


def _targets(statement):
    """(name, node, field, index) of the values that a module-level statement assigns: the name's
    own, and "NAME[i]" for each number of a tuple or list that is written out."""
    if (
        isinstance(statement, ast.AnnAssign)
        and isinstance(statement.target, ast.Name)
        and statement.value is not None
    ):
        yield statement.target.id, statement, "value", None
    if not isinstance(statement, ast.Assign):
        return
    for target in statement.targets:
        if isinstance(target, ast.Name):
            yield target.id, statement, "value", None
            if isinstance(statement.value, (ast.Tuple, ast.List)):
                for index, element in enumerate(statement.value.elts):
                    if isinstance(element, ast.Constant):
                        yield "%s[%d]" % (target.id, index), statement.value, "elts", index
        elif (
            isinstance(target, ast.Tuple)
            and isinstance(statement.value, ast.Tuple)
            and len(target.elts) == len(statement.value.elts)
        ):
            for index, element in enumerate(target.elts):
                if isinstance(element, ast.Name):
                    yield element.id, statement.value, "elts", index


def assigned_names(tree):
    """Returns the names that module-level assignments give a value, in order, each once."""
    return list(
        dict.fromkeys(name for statement in tree.body for name, _, _, _ in _targets(statement))
    )


LITERAL = "literal "  # of the names of numbers without one
INPUT_FUNCTIONS = ("get_inputs", "get_init_inputs")


class Literals(ast.NodeTransformer):
    """Finds the integers that the functions of the inputs write out, and replaces some."""

    def __init__(self, replaced):
        self.replaced, self.found = replaced, {}

    def visit_FunctionDef(self, node):
        return self.generic_visit(node) if node.name in INPUT_FUNCTIONS else node

    visit_AsyncFunctionDef = visit_Lambda = visit_ClassDef = lambda self, node: node

    def visit_BinOp(self, node):  # 1 << 20 is one number
        try:
            value = ast.literal_eval(compile_constant(node))
        except (ValueError, TypeError, ArithmeticError):
            return self.generic_visit(node)
        return self.visit_Constant(ast.copy_location(ast.Constant(value), node))

    def visit_Constant(self, node):
        if type(node.value) is not int or node.value < 2:
            return node
        self.found[LITERAL + str(node.value)] = node.value
        value = self.replaced.get(LITERAL + str(node.value), node.value)
        return ast.copy_location(ast.Constant(value), node)


def compile_constant(node):
    """Returns the value of an expression of integers, as a node. ValueError for any other."""
    for part in ast.walk(node):
        if isinstance(part, ast.Constant) and type(part.value) is int and part.value < 1 << 40:
            continue
        if isinstance(part, (ast.BinOp, ast.LShift, ast.Mult, ast.Add, ast.Sub, ast.FloorDiv)):
            continue
        raise ValueError
    return ast.Constant(eval(compile(ast.Expression(node), "constant", "eval"), {}))


def apply_patches(tree, patches, name):
    """Replaces the values of module-level assignments, {"batch_size": 4}, and of integers that the
    functions of the inputs write out, {"literal 256": 4}."""
    literals = Literals({n: v for n, v in patches.items() if n.startswith(LITERAL)})
    if literals.replaced:
        tree = literals.visit(tree)
        patches = {n: v for n, v in patches.items() if n not in literals.found}
    known = assigned_names(tree)
    for patch in patches:
        if patch not in known:
            raise LoadError(
                "there is no module-level constant \"%s\" to patch" % patch,
                name,
                "it has: " + (", ".join(known) if known else "none"),
            )
    for statement in tree.body:
        for target, owner, field, index in _targets(statement):
            if target not in patches:
                continue
            value = ast.copy_location(ast.Constant(patches[target]), statement)
            if index is None:
                setattr(owner, field, value)
            else:
                getattr(owner, field)[index] = value
    return ast.fix_missing_locations(tree)


def parse(text, name):
    text = text.removeprefix("\ufeff")  # a byte order mark, as Python itself skips it
    try:
        return ast.parse(text, filename=name)
    except SyntaxError as error:
        where = "%s:%d" % (name, error.lineno) if error.lineno else name
        raise LoadError(
            "SyntaxError: %s" % error.msg,
            where,
            "it has to be valid Python %d.%d" % sys.version_info[:2],
        ) from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise LoadError(words_of(error), name, "it has to be Python source") from None


def execute(text, name, module_name, patches=None):
    """Runs a file's text as a module. Turns the file's own errors into a LoadError."""
    tree = parse(text, name)
    if patches:
        tree = apply_patches(tree, patches, name)
    module = types.ModuleType(module_name)
    module.__file__ = name
    sys.modules[module_name] = module
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    try:
        exec(compile(tree, name, "exec"), module.__dict__)
    except LoadError:
        raise
    except (Exception, SystemExit) as error:
        raise LoadError(words_of(error), place_of(error, name), remedy_of(error)) from error
    module.kforge_assigned = assigned_names(tree)
    return module


# ---- what a file lacks ---------------------------------------------------------------------------


def own_modules(module):
    """Returns the names of the nn.Module classes that the file itself defines, in its order."""
    import torch

    return [
        name
        for name, value in vars(module).items()
        if isinstance(value, type)
        and issubclass(value, torch.nn.Module)
        and value.__module__ == module.__name__
    ]


def parameters_of(function):
    """Returns the names of the arguments that a method needs: by position, and by keyword only."""
    try:
        parameters = list(inspect.signature(function).parameters.values())[1:]
    except (TypeError, ValueError):
        return [], []
    needed = [p for p in parameters if p.default is inspect.Parameter.empty]
    plain = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    keyword = inspect.Parameter.KEYWORD_ONLY
    return [p.name for p in needed if p.kind in plain], [p.name for p in needed if p.kind is keyword]


def template(model_class, namespace):
    """Returns lines of Python, joined by " / ", that make a file without get_inputs() a problem when
    they are appended to it."""
    import torch

    def dictionary(names, value):
        return "{%s}" % ", ".join('"%s": %s' % (name, value) for name in names)

    lines = [] if vars(namespace).get("torch") is torch else ["import torch"]
    inputs, keywords = parameters_of(model_class.forward)
    inputs = inputs if inputs or keywords else ["x"]
    drawn = "torch.randn(16, 128)"
    lines.append(
        "def get_inputs(): return %s  # %s; their sizes are yours"
        % (
            dictionary(inputs + keywords, drawn)
            if keywords
            else "[%s]" % ", ".join([drawn] * len(inputs)),
            ", ".join(inputs + keywords),
        )
    )
    constants, keywords = parameters_of(model_class.__init__)
    if constants or keywords:
        plain = "[%s]" % ", ".join(["128"] * len(constants))
        lines.append(
            "def get_init_inputs(): return %s  # %s"
            % (
                "[%s, %s]" % (plain, dictionary(keywords, "128")) if keywords else plain,
                ", ".join(constants + keywords),
            )
        )
    return " / ".join(lines)


def offer(module, class_name):
    """Returns the remedy for a file without the class."""
    found = own_modules(module)
    if not found:
        return "expected class %s(nn.Module)" % class_name
    near = difflib.get_close_matches(class_name, found, 1)
    return "its modules are %s; choose one: --class %s" % (", ".join(found), (near or found)[0])


def module_class(module, name, class_name, other=None):
    """Returns a class of a loaded file that has to be a module of PyTorch. `other`: another name
    that the file may define instead."""
    import torch

    found = getattr(module, class_name, None)
    expected = "expected class %s(nn.Module)%s" % (class_name, " or %s" % other if other else "")
    if found is None:
        remedy = expected if other else offer(module, class_name)
        raise LoadError("it does not define class %s" % class_name, name, remedy)
    if not (isinstance(found, type) and issubclass(found, torch.nn.Module)):
        raise LoadError("%s is no subclass of torch.nn.Module" % class_name, name, expected)
    return found


# ---- problems ------------------------------------------------------------------------------------


class Problem:
    """A loaded problem file. `module` is its namespace."""

    def __init__(
        self,
        text,
        name,
        patches=None,
        class_name="Model",
        module_name="kforge_problem",
        nesting=None,
    ):
        # How the values of get_inputs are nested (structure.py); None: a plain list
        self.nesting = nesting
        self.text, self.patches = text, patches
        self.name, self.class_name = name, class_name
        self.module = execute(text, name, module_name, patches)
        self.model_class = self._class(class_name)

    @classmethod
    def read(cls, path, patches=None, class_name="Model"):
        try:
            with open(path, encoding="utf-8") as file:
                text = file.read()
        except (OSError, UnicodeError) as error:
            raise LoadError(
                words_of(error), str(path), "expected a readable Python file in UTF-8"
            ) from None
        return cls(text, str(path), patches, class_name)

    @classmethod
    def of_plan(cls, plan):
        """Loads the problem of a runner's plan (runner.py)."""
        return cls(
            plan["problem"]["text"],
            plan["problem"]["name"],
            plan["patches"],
            plan["class"],
            nesting=plan.get("structure"),
        )

    def _class(self, class_name):
        return module_class(self.module, self.name, class_name)

    def solution(self, text, name, entry=None):
        """Returns the class of a solution's text: ModelNew, or what the format of the problem makes
        of `entry`, the name that its solutions define. A solution that begins with the whole
        problem file has its constants, too."""
        patches = self.patches if text.startswith(self.text) else None
        module = execute(text, name, "kforge_candidate", patches)
        if entry is None or hasattr(module, SOLUTION_CLASS) or not hasattr(module, entry):
            return module_class(module, name, SOLUTION_CLASS, entry)
        adapt = getattr(self.module, "kforge_solution", None)
        return adapt(getattr(module, entry)) if adapt else module_class(module, name, entry)

    def _call(self, function_name, missing):
        function = getattr(self.module, function_name, None)
        if function is None and missing is not None:
            return missing
        if not callable(function):
            raise LoadError(
                "it does not define %s()" % function_name,
                self.name,
                "append it: " + template(self.model_class, self.module)
                if function is None and function_name == "get_inputs"
                else "expected a function that returns a list",
            )
        try:
            value = function()
        except (Exception, SystemExit) as error:
            raise LoadError(
                "%s() fails: %s" % (function_name, words_of(error)), place_of(error, self.name)
            ) from error
        if not isinstance(value, (list, tuple, dict)):
            raise LoadError(
                "%s() returns %s" % (function_name, type(value).__name__),
                self.name,
                "expected a list or a dict",
            )
        return value

    def inputs(self, seed=None):
        """Returns the tensors and numbers of get_inputs() as a flat list, after seeding if `seed` is
        given."""
        if seed is not None:
            seed_all(seed)
        leaves, self.nesting = structure.flatten(self._call("get_inputs", None))
        return leaves

    def init_inputs(self, seed=None):
        """Returns (arguments, keywords) of the constructor, from a list, a dict, or both in a list."""
        if seed is not None:
            seed_all(seed)
        value = self._call("get_init_inputs", [])
        if isinstance(value, dict):
            return [], value
        if len(value) == 2 and isinstance(value[0], (list, tuple)) and isinstance(value[1], dict):
            known = inspect.signature(self.model_class.__init__).parameters
            if all(key in known for key in value[1]):
                return list(value[0]), value[1]
        return list(value), {}

    def construct(self, init=None, seed=SEED, model_class=None):
        """Returns an instance. Seeds right before the constructor, as KernelBench does. `init`: the
        constructor's arguments; None: get_init_inputs()."""
        chosen = model_class or self.model_class
        arguments, keywords = self.init_inputs(seed) if init is None else init
        seed_all(seed)
        try:
            return structure.adapt(chosen(*arguments, **keywords), self.nesting)
        except (Exception, SystemExit) as error:
            where = place_of(
                error, getattr(sys.modules.get(chosen.__module__), "__file__", None) or self.name
            )
            raise LoadError(
                "%s(…) fails: %s" % (chosen.__name__, words_of(error)), where
            ) from error

    def _value(self, name):
        name, _, index = name.partition("[")
        value = getattr(self.module, name, None)
        return (
            value[int(index[:-1])]
            if index and isinstance(value, (tuple, list)) and int(index[:-1]) < len(value)
            else None if index else value
        )

    def literals(self):
        """Returns the integers that the functions of the inputs write out: {"literal 256": 256}."""
        finder = Literals({})
        finder.visit(parse(self.text, self.name))
        return finder.found

    def numbers(self):
        """Returns all integers that can be patched."""
        return {**self.literals(), **self.constants()}

    def constants(self):
        """Returns the module-level integers that can be patched: {"batch_size": 16,
        "input_shape[0]": 4096}. In a file with KFORGE (formats/flashinfer_task.py) only its own."""
        declared = getattr(self.module, "KFORGE", None)
        own = isinstance(declared, dict)
        names = declared.get("patches", {}) if own else self.module.kforge_assigned
        values = ((name, self._value(name)) for name in names)
        return {
            name: value
            for name, value in values
            if isinstance(value, int) and not isinstance(value, bool)
        }


# ---- names and kinds that a task's arguments have ------------------------------------------------

DTYPES = {  # kforge's name -> PyTorch's
    "f64": "float64",
    "f32": "float32",
    "tf32": "float32",
    "f16": "float16",
    "bf16": "bfloat16",
    "f8e4m3": "float8_e4m3fn",
    "f8e5m2": "float8_e5m2",
    "i64": "int64",
    "i32": "int32",
    "i16": "int16",
    "i8": "int8",
    "u8": "uint8",
    "bool": "bool",
}


def torch_dtype(name):
    import torch

    return getattr(torch, DTYPES[name])


def dtype_name(dtype):
    """Returns kforge's name of a torch.dtype; None without one."""
    text = str(dtype).split(".")[-1]
    return next((ours for ours, theirs in DTYPES.items() if theirs == text), None)


def forward_names(model, count):
    """Returns the names of the first `count` arguments of forward, valid and distinct."""
    names = []
    try:
        parameters = list(inspect.signature(model.forward).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    for parameter in parameters:
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            names.append(parameter.name)
    names = names[:count]
    while len(names) < count:
        names.append("in%d" % len(names))
    return names


def state_entries(model):
    """Returns (state name, tensor, "parameter" or "buffer") in the order of state_dict. A tensor
    with two names comes once."""
    parameters = {id(parameter) for parameter in model.parameters()}
    seen, entries = set(), []
    for name, tensor in model.state_dict(keep_vars=True).items():
        if id(tensor) in seen or not hasattr(tensor, "dtype"):
            continue
        seen.add(id(tensor))
        entries.append((name, tensor, "parameter" if id(tensor) in parameters else "buffer"))
    return entries


def fit(value, shape):
    """Returns a contiguous tensor of that shape, with the numbers of a tensor of another size: cut
    where that is larger, repeated where it is smaller."""
    import torch

    if value.numel() != math.prod(shape):
        for dim, extent in enumerate(shape):
            numbers = torch.arange(extent, device=value.device) % value.shape[dim]
            value = value.index_select(dim, numbers)
    return value.contiguous().view(shape)


def widen(module):
    """Converts a module to float64, with its tensors outside of state_dict: an initial hidden
    state, a table."""
    import torch

    def widened(value):
        if isinstance(value, torch.Tensor):
            return value.double() if value.is_floating_point() else value
        if type(value) in (list, tuple):
            made = [widened(each) for each in value]
            return type(value)(made) if any(a is not b for a, b in zip(made, value)) else value
        if type(value) is dict:
            made = {key: widened(each) for key, each in value.items()}
            return made if any(made[key] is not value[key] for key in value) else value
        return value

    module.double()
    for part in module.modules():
        for name, value in list(vars(part).items()):
            made = value if name.startswith("_") else widened(value)
            if made is not value:
                setattr(part, name, made)


def flatten(value):
    """Returns the tensors of forward's result in order: a tensor, or tuples, lists and dicts of
    tensors, the dicts in the order of their keys, without None. Raises TypeError for anything
    else."""
    import torch

    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, (list, tuple)):
        return [tensor for item in value for tensor in flatten(item)]
    if isinstance(value, dict):
        return [tensor for key in sorted(value, key=str) for tensor in flatten(value[key])]
    if value is None:
        return []
    raise TypeError("forward returned %s; expected a tensor" % type(value).__name__)
