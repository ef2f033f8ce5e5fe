"""Problems of GPU MODE's kernel competitions, as problem files.

A problem has task.yml, reference.py (generate_input, ref_kernel, check_implementation) and modules
that these import. A solution is a file submission.py with custom_kernel(data).

`translate` writes the problem file: the problem's own files as texts, one constant for each number
of a test, and a call of `bind` at the end. `bind` also runs in the runners. It makes the module
Model around ref_kernel, and gives solutions the same arguments.

`data` is divided into tensors and numbers (gpu_mode_data.py). A *buffer* is a tensor of it that the
reference writes or ignores, and that has no influence on the result: room for the output. Buffers
are no arguments of the task. Each call gets new ones. Tensors that the reference changes are copied
for each call. Both are known by their paths, since the number of tensors may depend on the size.
A tensor that the reference does not write is a buffer only if it has the shape of a result, and
several draws ignore it. Otherwise it may be a weight that few draws reach.

check_implementation(data, output) becomes the task's own check, which the oracle's runner calls
about results that differ from the reference's. It is left out if it refuses the reference's result,
or accepts zeros or the result for other data.
"""

import ast
import inspect
import os
import random
import re
import sys
import types

import load
from formats.gpu_mode_data import Divided, tensors_of

SUITE = "gpu-mode"
NEEDED = ("generate_input", "ref_kernel")
SEED = "seed"
# Seeds are drawn below this number, or the largest that the problem itself has. A generator may add
# the seed to its numbers, and float32 has to hold the sum.
LEAST_SEEDS = 1 << 14
FURTHER_CASES = 2
FURTHER_SEEDS = (1, 2, 3, 4)  # of the draws that decide about a tensor that nothing writes
MOST_ELEMENTS = 1 << 18  # of the data that is examined


# ---- in the runners ------------------------------------------------------------------------------


def execute(files, name):
    """Executes the problem's files as modules, in an order in which each finds the ones before."""
    for module_name, text in files.items():
        module = types.ModuleType(module_name)
        module.__file__ = "%s/%s.py" % (name, module_name)
        sys.modules[module_name] = module
        try:
            exec(compile(text, module.__file__, "exec"), module.__dict__)
        except load.LoadError:
            raise
        except (Exception, SystemExit) as error:
            raise load.LoadError(
                load.words_of(error),
                load.place_of(error, module.__file__),
                load.remedy_of(error),
            ) from error
    return sys.modules["reference"]


class Caller:
    """Calls ref_kernel or custom_kernel with `data` as the format has it. `buffers`, `changed`,
    `results`: paths. `parts`: the names of the parts of `data`."""

    def __init__(self, made, parts, buffers, changed, results, own):
        divided = Divided(made, own)
        self.own = own
        self.buffers = {
            i: (divided.leaves[i].shape, divided.leaves[i].dtype)
            for i, path in enumerate(divided.paths)
            if path in buffers
        }
        self.paths = divided.paths
        self.given = [i for i in range(len(self.paths)) if i not in self.buffers]
        self.changed = [i for i in self.given if self.paths[i] in changed]
        self.results = results
        names = divided.names(parts)
        self.names = [names[i] for i in self.given]
        self.divided = divided.drop()

    def buffer(self, number, device):
        import torch

        shape, dtype = self.buffers[number]
        if dtype.is_floating_point and torch.get_default_dtype() is torch.float64:
            dtype = torch.float64  # an oracle must not round in a buffer
        return torch.empty(shape, dtype=dtype, device=device)

    def data(self, given):
        """Returns `data` with new buffers, and copies of what the reference changes."""
        device = next((v.device for v in given if hasattr(v, "device")), None)
        leaves = [None] * len(self.paths)
        for i, value in zip(self.given, given):
            leaves[i] = value.clone() if i in self.changed else value
        for i in self.buffers:
            leaves[i] = self.buffer(i, device)
        return self.divided.build(leaves)

    def narrow(self, result):
        """Returns a result in the dtype of its buffer; an oracle's stays as it is."""
        import torch

        dtype = next(iter(self.buffers.values()))[1]
        wide = torch.get_default_dtype() is torch.float64 or not isinstance(result, torch.Tensor)
        return result if wide else result.to(dtype)

    def __call__(self, function, given):
        data = self.data(given)
        where = place_of(function)
        result = tensors_of(function(data), self.own, where)
        if result is None and self.results:
            after = Divided(data, self.own, where=where)
            found = dict(zip(after.paths, after.leaves))
            result = [found[path] for path in self.results]
            return result[0] if len(result) == 1 else tuple(result)
        return result


def place_of(function):
    """Returns "FILE: NAME" of a function."""
    function = inspect.unwrap(function)
    code = getattr(function, "__code__", None)
    name = getattr(function, "__name__", type(function).__name__)
    return "%s: %s" % (os.path.basename(code.co_filename), name) if code else name


def tensors(value):
    """Yields all tensors of a result."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (tuple, list)):
        for part in value:
            yield from tensors(part)
    elif hasattr(value, "dtype"):
        yield value


def accepts(check, data, output):
    """Returns what check_implementation says, as the format's own evaluator reads it."""
    said = check(data, output)
    return bool(said[0]) if isinstance(said, tuple) else not said


def nested(values, several):
    """Returns results as the reference returns them. `several`: the name of its container."""
    return values[0] if several is None else (tuple if several == "tuple" else list)(values)


def with_signature(model_class, names):
    """Returns a subclass with these names of forward's arguments. Their number may depend on the
    size."""

    def forward(self, *given):
        return model_class.forward(self, *given)

    parameter = inspect.Parameter
    forward.__signature__ = inspect.Signature(
        [parameter("self", parameter.POSITIONAL_OR_KEYWORD)]
        + [parameter(name, parameter.POSITIONAL_OR_KEYWORD) for name in names]
    )
    return type(model_class.__name__, (model_class,), {"forward": forward})


def bind(
    namespace,
    files,
    arguments,
    names,
    buffers,
    changed,
    results,
    seeds,
    narrowed,
    checks=False,
    several=None,
):
    """Defines Model, get_inputs and kforge_solution in the problem file's namespace. `arguments`
    returns those of generate_input, but the seed. `names`: of the parts of the data. `narrowed`: a
    result in another dtype than its buffer gets the buffer's, as the format's comparison does."""
    import torch

    reference = execute(files, namespace["__name__"])
    namespace["kforge_modules"] = [sys.modules[name] for name in files]

    def generate():
        known = inspect.signature(reference.generate_input).parameters
        given = dict(arguments())
        if SEED in known:
            given[SEED] = random.randrange(seeds)
        return reference.generate_input(**given)

    def called(made):
        return Caller(made, names, buffers, changed, results, tuple(files))

    def get_inputs():
        divided = Divided(generate(), tuple(files))
        return [v for path, v in zip(divided.paths, divided.leaves) if path not in buffers]

    def module_of(function, narrows=False):
        class Model(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.call = called(generate())
                self.__class__ = with_signature(Model, self.call.names)

            def forward(self, *given):
                result = self.call(function, given)
                return self.call.narrow(result) if narrows else result

        Model.__doc__ = inspect.getdoc(reference.ref_kernel)
        return Model

    callers = {}

    def caller():
        """Draws inputs once for each size, since only their shapes and types matter."""
        size = repr(arguments())
        if size not in callers:
            callers[size] = called(generate())
        return callers[size]

    def own_check(given, outputs):
        data = caller().data(given)
        return accepts(reference.check_implementation, data, nested(outputs, several))

    if checks:
        namespace["kforge_check"] = own_check
    namespace["Model"] = module_of(reference.ref_kernel, narrowed)
    namespace["get_inputs"] = get_inputs
    # The format compares values, so a solution's dtype may differ as the reference's does.
    namespace["kforge_solution"] = lambda function: module_of(function, narrowed)


# ---- in the import -------------------------------------------------------------------------------


def read_yaml(text, name):
    try:
        import yaml
    except ImportError:
        raise load.LoadError(
            "PyYAML is missing, and it reads %s" % name,
            sys.executable,
            "install it with `%s -m pip install pyyaml` (Debian: python3-yaml)" % sys.executable,
        ) from None
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = "%s:%d" % (name, mark.line + 1) if mark else name
        words = getattr(error, "problem", None) or "it is not YAML"
        raise load.LoadError(words, where, "correct it") from None


def modules_of(task, files):
    """Returns {module name: text} of the problem's Python files, as task.yml names them."""
    listed = task.get("files")
    if listed is None:
        listed = [{"name": n, "source": n} for n in files if n.endswith(".py") and "/" not in n]
    found = {}
    for entry in listed if isinstance(listed, list) else []:
        if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
            raise load.LoadError(
                "a file without a name", "task.yml: files", "expected {name, source}"
            )
        name, source = entry["name"], str(entry.get("source", entry["name"]))
        if source == "@SUBMISSION@" or not name.endswith(".py"):
            continue
        if source not in files:
            raise load.LoadError(
                "there is no file %s" % source,
                "task.yml: files",
                "it has to be in the problem's folder or elsewhere in its repository",
            )
        found[name[: -len(".py")]] = files[source]
    if "reference" not in found:
        raise load.LoadError("it names no reference.py", "task.yml: files", "add it")
    return found


def imported(text, name):
    for node in ast.walk(load.parse(text, name)):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.split(".")[0]


def ordered(modules):
    """Returns those modules that the reference imports, each behind the ones that it imports."""
    result = {}

    def visit(name, path):
        if name in result or name in path:
            return
        for other in imported(modules[name], name + ".py"):
            if other in modules:
                visit(other, path + [name])
        result[name] = modules[name]

    # A solution imports its types from `task`, and at times helpers from `utils`.
    for name in ("task", "utils", "reference"):
        if name in modules:
            visit(name, [])
    return {
        **{n: t for n, t in result.items() if n != "reference"},
        "reference": result["reference"],
    }


def cases(task):
    """Returns [(arguments, timed)] of tests and benchmarks, and the number of seeds."""
    found = []
    for key, timed in (("benchmarks", True), ("tests", False)):
        listed = task.get(key) or []
        if not isinstance(listed, list) or not all(isinstance(c, dict) for c in listed):
            raise load.LoadError(
                "its %s are no list of objects" % key, "task.yml: %s" % key, "expected [{…}, …]"
            )
        found += [(dict(case), timed) for case in listed]
    if not found:
        raise load.LoadError(
            "it has neither tests nor benchmarks", "task.yml", "add shapes as benchmarks: [{…}]"
        )
    seeds = [case.pop(SEED, 0) for case, _ in found]
    seeds = [seed + 1 for seed in seeds if isinstance(seed, int)]
    for case, _ in found:
        if "world_size" in case:
            raise load.LoadError(
                "it runs on %s GPUs" % case["world_size"],
                "task.yml: world_size",
                "kforge judges problems of one device",
            )
    return found, max([LEAST_SEEDS] + seeds)


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def constants(found):
    """Returns (numbers, others): the keys with a number in each case, and the others."""
    keys = list(dict.fromkeys(key for case, _ in found for key in case))
    numbers = [k for k in keys if all(is_number(case.get(k)) for case, _ in found)]
    return numbers, [k for k in keys if k not in numbers]


def names_of(text, count):
    """Returns the names to which ref_kernel unpacks its data; else data0 and so on."""
    tree = load.parse(text, "reference.py")
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef) or function.name != "ref_kernel":
            continue
        first = function.args.args[0].arg if function.args.args else ""
        for node in ast.walk(function):
            if (
                isinstance(node, ast.Assign)
                and isinstance(node.value, ast.Name)
                and node.value.id == first
                and isinstance(node.targets[0], ast.Tuple)
                and len(node.targets[0].elts) == count
                and all(isinstance(e, ast.Name) for e in node.targets[0].elts)
            ):
                names = [
                    e.id.strip("_") or "data%d" % i for i, e in enumerate(node.targets[0].elts)
                ]
                if len(set(names)) == count:
                    return names
        if count == 1 and first:
            return [first]
    return ["data%d" % i for i in range(count)]


def tolerance_of(text):
    """Returns (rtol, atol) that check_implementation names as numbers; None without them."""
    for node in ast.walk(load.parse(text, "reference.py")):
        if isinstance(node, ast.Call):
            words = {k.arg: k.value for k in node.keywords if k.arg in ("rtol", "atol")}
            if len(words) == 2 and all(isinstance(v, ast.Constant) for v in words.values()):
                return [float(words["rtol"].value), float(words["atol"].value)]
    return None


class Examined:
    """What one call of the reference shows about the leaves of `data`. `needed`: paths of leaves
    that have influence at another size."""

    def __init__(self, modules, arguments, needed=()):
        import torch

        self.torch, self.own = torch, tuple(modules)
        self.reference = execute(modules, "problem")
        self.place = place_of(self.reference.ref_kernel)
        known = inspect.signature(self.reference.generate_input).parameters
        self.seeded = SEED in known
        self.arguments = arguments
        data = self.draw(1234)
        self.whole = not isinstance(data, (tuple, list))
        self.count = 1 if self.whole else len(data)
        self.divided = Divided(data, self.own)
        self.paths, after = self.divided.paths, self.divided.leaves
        self.leaves = [copied(leaf) for leaf in after]
        result = self.call(data)
        written = Divided(data, self.own, where=self.place)
        written = dict(zip(written.paths, written.leaves))
        expected = self.values(result, written)
        changed = [
            i for i, leaf in enumerate(self.leaves)
            if not same(leaf, after[i], torch)
            or not same(leaf, written.get(self.paths[i], leaf), torch)
        ]
        results = [] if result is None else expected
        buffers = [
            i
            for i, leaf in enumerate(self.leaves)
            if isinstance(leaf, torch.Tensor)
            and self.paths[i]
            and self.paths[i] not in needed
            and (i in changed or count_like(leaf, results))
            and self.ignores(self.divided, self.leaves, i, expected)
        ]
        buffers = self.without_weights(buffers, changed, results)
        self.buffers = [self.paths[i] for i in buffers]
        self.unwritten = [self.paths[i] for i in buffers if i not in changed]
        # of a reference that returns nothing: which tensors of `data` are its results
        self.results = [
            self.paths[i] for i in changed if isinstance(self.leaves[i], torch.Tensor)
        ] if result is None else []
        self.changed = [
            self.paths[i]
            for i in changed
            if i not in buffers and isinstance(self.leaves[i], torch.Tensor)
        ]
        own = [self.leaves[i] for i in buffers]
        self.narrowed = (
            len(own) == len(expected) == 1
            and isinstance(result, torch.Tensor)
            and own[0].shape == expected[0].shape
            and own[0].dtype != expected[0].dtype
            and own[0].is_floating_point()
        )
        self.several = next((k.__name__ for k in (tuple, list) if isinstance(result, k)), None)
        self.checks, self.why_not = self.look_at_check(result)

    def draw(self, seed):
        """Returns the data of the examined size."""
        return self.reference.generate_input(
            **self.arguments, **({SEED: seed} if self.seeded else {})
        )

    def look_at_check(self, result):
        """Returns (true if the problem's own check decides, and the reason if it cannot)."""
        check = getattr(self.reference, "check_implementation", None)
        flat = [] if result is None else list(tensors(result))
        if not callable(check) or not flat:
            return False, ""
        zeros = [self.torch.zeros_like(t) for t in flat]
        others = self.call(self.draw(4321))
        for given, wanted, words in (
            (flat, True, "it refuses the reference's own result"),
            (zeros, False, "it accepts zeros"),
            (list(tensors(others)), False, "it accepts the result for other data"),
        ):
            data = self.divided.build([copied(leaf) for leaf in self.leaves])
            try:
                said = accepts(check, data, nested([t.clone() for t in given], self.several))
            except Exception as error:
                return False, "it fails: %s" % load.words_of(error)
            if said != wanted:
                return False, words
        return True, ""

    def without_weights(self, buffers, changed, results):
        """Returns the buffers without those that nothing writes and that are no room for a result:
        there are more of their shape than results, or another draw reads them."""
        alike = {i: count_like(self.leaves[i], [self.leaves[k] for k in buffers]) for i in buffers}
        free = [
            i
            for i in buffers
            if i not in changed and alike[i] <= count_like(self.leaves[i], results)
        ]
        for seed in FURTHER_SEEDS:
            free = self.ignored_by(seed, free) if free else []
        return [i for i in buffers if i in changed or i in free]

    def ignored_by(self, seed, numbers):
        """Returns those of the leaves that another draw ignores, too."""
        data = self.draw(seed)
        divided = Divided(data, self.own)
        leaves = [copied(leaf) for leaf in divided.leaves]
        expected = self.values(self.call(data), {})
        found = {path: i for i, path in enumerate(divided.paths)}
        return [
            i
            for i in numbers
            if self.paths[i] in found
            and self.ignores(divided, leaves, found[self.paths[i]], expected)
        ]

    def call(self, data):
        with self.torch.no_grad():
            return tensors_of(self.reference.ref_kernel(data), self.own, self.place)

    def values(self, result, written):
        """Returns copies of the result's tensors; without a result, of the leaves after the call."""
        if result is None:
            return [v.clone() for v in written.values() if isinstance(v, self.torch.Tensor)]
        return [t.clone() for t in load.flatten(result)]

    def ignores(self, divided, leaves, number, expected):
        """True if other numbers in a leaf leave the result unchanged."""
        torch = self.torch
        leaves = [copied(leaf) for leaf in leaves]
        floating = leaves[number].dtype.is_floating_point
        leaves[number] = torch.full_like(leaves[number], 77 if not floating else float("nan"))
        data = divided.build(leaves)
        try:
            result = self.call(data)
            written = Divided(data, self.own)
        except Exception:
            return False
        found = self.values(result, dict(zip(written.paths, written.leaves)))
        alike = all(same(a, b, torch) for a, b in zip(expected, found))
        return alike and len(expected) == len(found)


def copied(leaf):
    return leaf.clone() if hasattr(leaf, "clone") else leaf


def count_like(tensor, others):
    """Returns how many of the tensors have its shape, but for extents of 1, and its kind of number.
    """

    def kind(t):
        return [n for n in t.shape if n != 1], t.dtype.is_floating_point, t.dtype.is_complex

    return sum(kind(tensor) == kind(other) for other in others)


def same(a, b, torch):
    if not isinstance(a, torch.Tensor) or not isinstance(b, torch.Tensor):
        return True
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.dtype.is_floating_point and not torch.equal(a, b):
        a, b = (t.to(torch.float64).nan_to_num(nan=1.25e300) for t in (a, b))
    return bool(torch.equal(a, b))


def examine(modules, found):
    """Examines the smallest case. A leaf that has no influence there may have some in the next ones:
    a state that only a second step reads."""
    sizes = sorted((case for case, _ in found), key=size_of)
    seen, needed = examine_small(modules, sizes[0]), set()
    others = [c for c in sizes if size_of(sizes[0]) < size_of(c) <= 64 * size_of(sizes[0])]
    for case in others[:FURTHER_CASES] if seen.unwritten else ():
        needed |= set(seen.unwritten) - set(examine_small(modules, case).buffers)
    return examine_small(modules, sizes[0], needed) if needed else seen


def examine_small(modules, case, needed=()):
    """Examines a case with its largest numbers halved until the data is small, as far as the
    reference takes that."""
    sizes = [case]
    reference = execute(modules, "problem")
    for name in NEEDED:
        if not callable(getattr(reference, name, None)):
            raise load.LoadError(
                "it does not define %s" % name, "reference.py", "expected a function"
            )
    while (elements_of(modules, reference, sizes[-1]) or 0) > MOST_ELEMENTS:
        smaller = halved(modules, reference, sizes[-1])
        if smaller is None:
            break
        sizes.append(smaller)
    failed = None
    for size in reversed(sizes):
        try:
            return Examined(modules, size, needed)
        except load.LoadError:
            raise
        except Exception as error:
            failed = error
    raise load.LoadError(
        "its smallest case fails: %s" % load.words_of(failed),
        load.place_of(failed, "problem/reference.py"),
        "generate_input and ref_kernel have to work with %s; if they need a GPU, import the problem on a "
        "machine with one" % case,
    ) from failed


def halved(modules, reference, case):
    """Returns the case with its largest number halved, or the next one if that does not work."""
    now = elements_of(modules, reference, case)
    whole = [k for k, v in case.items() if type(v) is int and v >= 2]
    for key in sorted(whole, key=lambda k: -case[k]):
        smaller = dict(case, **{key: case[key] // 2})
        elements = elements_of(modules, reference, smaller)
        if elements is not None and elements < 0.99 * now:
            return smaller
    return None


def elements_of(modules, reference, case):
    """Returns the number of elements of a case's data, which it makes without storage; None if that
    fails."""
    import meta

    extra = {SEED: 1} if SEED in inspect.signature(reference.generate_input).parameters else {}
    try:
        with meta.Storageless():
            data = Divided(reference.generate_input(**case, **extra), tuple(modules))
    except Exception:
        return None
    return sum(v.numel() for v in data.leaves if hasattr(v, "numel"))


def literal(text):
    """Returns a text as Python source that a reader can follow."""
    if "'''" not in text and not text.endswith(("'", "\\")) and "\r" not in text:
        return "r'''%s'''" % text
    return repr(text)


def size_of(case):
    product = 1.0
    for value in case.values():
        product *= abs(value) + 1 if is_number(value) else 1
    return product


def translate(bundle):
    """Returns {"text": of the problem file, …} of a bundle (translate.py)."""
    files = bundle["files"]
    if "task.yml" not in files:
        raise load.LoadError("there is no task.yml", bundle["folder"], "name a problem's folder")
    task = read_yaml(files["task.yml"], "task.yml")
    if not isinstance(task, dict):
        raise load.LoadError("it is no object", "task.yml", "expected lang, files, tests, …")
    if str(task.get("lang", "py")) != "py":
        raise load.LoadError(
            "its language is %s" % task["lang"], "task.yml: lang", "kforge imports lang: py"
        )
    found, seeds = cases(task)
    numbers, others = constants(found)
    modules = ordered(modules_of(task, files))
    seen = examine(modules, found)
    names = names_of(modules["reference"], seen.count)
    lines = [
        '"""%s, from GPU MODE. The texts are the problem\'s own files."""' % bundle["folder"],
        "from formats import gpu_mode",
        "",
        "FILES = {",
    ]
    for name, text in modules.items():
        lines.append("    %r: %s," % (name, literal(text)))
    lines += ["}", ""]
    base = found[0][0]
    for key in numbers:
        lines.append("%s = %r" % (key, base[key]))
    if others:
        lines += ["", "# Arguments that are no numbers, for each case.", "OTHERS = ["]
        rows = []
        for case, _ in found:
            row = {k: case[k] for k in others if k in case}
            if row not in rows:
                rows.append(row)
        lines += ["    %r," % row for row in rows] + ["]", "case = 0", ""]
    lines.append("KFORGE_WORKLOADS = [")
    for number, (case, timed) in enumerate(found):
        patches = {k: case[k] for k in numbers}
        if others:
            patches["case"] = rows.index({k: case[k] for k in others if k in case})
        count = sum(1 for _, t in found[: number + 1] if t == timed)
        name = "%s%d" % ("benchmark" if timed else "test", count)
        lines.append("    %r," % {"name": name, "timed": timed, "patches": patches})
    lines += ["]"]
    tolerance = tolerance_of(modules["reference"])
    if tolerance:
        lines.append("KFORGE_TOLERANCE = %r" % tolerance)
    lines += [
        "",
        "",
        "def arguments():",
        "    return {%s}"
        % ", ".join(["%r: %s" % (k, k) for k in numbers] + (["**OTHERS[case]"] if others else [])),
        "",
        "",
        "gpu_mode.bind(",
        "    globals(), FILES, arguments, names=%r, buffers=%r, changed=%r, results=%r,"
        % (names, seen.buffers, seen.changed, seen.results),
        "    seeds=%d, narrowed=%r, checks=%r, several=%r,"
        % (seeds, seen.narrowed, seen.checks, seen.several),
        ")",
        "",
    ]
    text = "\n".join(lines)
    return {
        "text": text,
        "doc": one_line(str(task.get("description") or "")),
        "solution": "custom_kernel",
        "definition": definition_of(names, seen),
        "notes": note_of(names, seen),
    }


def one_line(text):
    return re.sub(r"\s+", " ", text).strip()[:600]


def definition_of(names, seen):
    """Returns what an export of submission.py needs: the argument of each part of `data`, None for
    room for the output. Without `parts` the data is nested."""
    named = seen.divided.names(names)
    rooms = {name for name, path in zip(named, seen.paths) if path in seen.buffers}
    parts = seen.divided.parts(named)
    if parts is None:
        return {"format": SUITE}
    parts = [None if name in rooms else name for name in parts]
    return {"format": SUITE, "parts": parts, "whole": seen.whole}


def note_of(names, seen):
    notes, named = [], dict(zip(seen.paths, seen.divided.names(names)))
    if seen.checks:
        notes.append("results that its check_implementation accepts are right")
    elif seen.why_not:
        notes.append("check_implementation is not used: %s" % seen.why_not)
    if seen.buffers:
        notes.append(
            "room for the output, no argument: %s" % ", ".join(named[p] for p in seen.buffers)
        )
    if seen.changed:
        notes.append(
            "the reference changes %s: each call gets a copy"
            % ", ".join(named[p] for p in seen.changed)
        )
    return notes
