"""Describes a problem file for `kforge import`: arguments, shapes, distributions, outputs, and
whether the problem is fit for judging.

The problem is examined in three ways. Its inputs and its model are made twice with different seeds.
This shows the random parts, their distributions (distributions.py) and the fixed parts. Then
forward runs twice on equal values that are drawn as the judge draws them: an output that differs is
random. Then forward runs with other values for one argument at a time: an output that stays equal
does not depend on the argument. A problem that fails is unfit. The reason names the measurement, so
no list of bad problems is needed.

That costs a dozen calls. So a problem over CHECK_ELEMENTS is measured at a smaller size, with
halved module-level constants (shrink.py). At its own size it only has to give shapes, which tensors
without storage (device "meta") do quickly.

State means parameters and buffers. State without influence on the output (the running means of a
batch norm in training) is no argument. A buffer that every construction fills alike (a mask, an
index table) is no argument either, since a candidate computes it itself. Both keep the module's own
values.
"""
import argparse
import contextlib
import inspect
import math
import os
import sys
import tempfile
import time
import traceback
import warnings

import load

try:
    import torch

    import freezable
    import full_numbers
    import full_shapes
    import meta
    import shrink
    import unseen
    from formats import flashinfer_task as declared_task
    from formats import workloads
    from formats import translate
    from formats.this_device import OnThisDevice
    from problem_measure import Arguments, Unfit, dtype_name, measure, one_line
    from remedies import with_remedy
except ImportError as torch_missing_reason:
    torch, torch_missing = None, torch_missing_reason

UNVARIED = ("constant", "symmetric", "upper_triangular", "lower_triangular")
CHECK_ELEMENTS = 1 << 22
CHECK_FLOPS = 1 << 29
MOST_ARGUMENTS = 512  # of a task
MOST_OF_ARGUMENT = 1 << 40  # elements
MOST_ELEMENTS = 1 << 28  # that anything is measured at
# Names that a C++ parameter must not have, and names that task.json refuses.
RESERVED = set(
    """alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t char32_t class compl concept const
    consteval constexpr constinit const_cast continue co_await co_return co_yield decltype default delete do double dynamic_cast else enum
    explicit export extern false float for friend goto if inline int long mutable namespace new noexcept not not_eq nullptr operator or or_eq
    private protected public register reinterpret_cast requires restrict return short signed sizeof static static_assert static_cast struct
    switch template this thread_local throw true try typedef typeid typename typeof union unsigned using virtual void volatile wchar_t while
    xor xor_eq stream main assert errno stdin stdout stderr NULL EOF INFINITY NAN HUGE_VAL I""".split()
)


def c_name(name, taken):
    """Returns a C identifier that no argument has yet."""
    name = (
        "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in name).lstrip("_")
        or "argument"
    )
    if name[0].isdigit():
        name = "p" + name
    if name in RESERVED or name.startswith(("kf_", "KF_")):
        name += "_"
    name = name[:56]
    unique, number = name, 2
    while unique in taken:
        unique, number = "%s_%d" % (name, number), number + 1
    taken.add(unique)
    return unique


def jsonable(value):
    """Returns init inputs as JSON, for people. A value that JSON lacks is written as in Python."""
    if isinstance(value, (list, tuple)):
        return [jsonable(v) for v in value]
    if isinstance(value, dict):
        return {str(k): jsonable(v) for k, v in value.items()}
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else repr(value)
    return repr(value)[:200]


def shape_of(tensor):
    return [int(n) for n in tensor.shape] or [1]


def is_large(elements, flops):
    return elements > CHECK_ELEMENTS or (flops or 0) > CHECK_FLOPS


# Reasons that a small size alone may cause: a norm over groups of one channel, a maximum over one
# element.
OF_SMALLNESS = """
    outputs.zero outputs.constant outputs.nearly_constant inputs.without_influence
    outputs.identity outputs.unstable
""".split()


# Reasons against inputs that are drawn from distributions, which its own get_inputs may not have.
OF_DRAWN_INPUTS = """
    inputs.distribution inputs.fixed inputs.without_influence outputs.data_shape outputs.nonfinite
""".split() + OF_SMALLNESS


def describe(path, patches, options):
    """Describes the problem. If it is unfit with inputs that kforge draws, with its own inputs."""
    options.generated = None
    try:
        return describe_all(path, patches, options)
    except Unfit as unfit:
        declared = hasattr(load.Problem.read(path, patches, options.class_name).module, "KFORGE")
        if unfit.rule not in OF_DRAWN_INPUTS or declared:
            raise
        options.generated = reason = unfit
    try:
        description = describe_all(path, patches, options)
    except Unfit as own:
        more = "" if str(own) == str(reason) else "; with its own inputs: %s" % own
        raise Unfit(reason.rule, "%s%s" % (reason, more)) from own
    description["notes"].insert(
        0,
        "inputs: own generator, get_inputs with seeds that the judge draws, since otherwise: %s"
        % reason,
    )
    return description


def describe_all(path, patches, options):
    """Describes the problem: with all its workloads if it lists some, else at one size."""

    def describe_one(path, patches):
        kept, options.max_elements = options.max_elements, 0
        try:
            return describe_once(path, patches, options)
        finally:
            options.max_elements = kept

    return workloads.describe(path, patches, options, describe_one, c_name) or describe_once(
        path, patches, options
    )


def describe_bundle(path, patches, options):
    """Translates a problem in a format of others, and describes the problem file."""
    translated = translate.read(path)
    if "task" in translated:  # it needs no PyTorch
        return translated
    os.chdir(tempfile.mkdtemp(prefix="kforge-problem-"))
    problem = "problem.py"  # as messages name it
    with open(problem, "w", encoding="utf-8") as file:
        file.write(translated["text"])
    description = describe(problem, patches, options)
    description["doc"] = translated["doc"] or description["doc"]
    description["problem"] = translated["text"]
    if translated.get("definition"):
        description["definition"] = translated["definition"]
    if translated.get("forbidden"):
        description["forbidden"] = translated["forbidden"]
    if translated["solution"]:
        description["solution"] = translated["solution"]
    description["notes"] = translated["notes"] + description["notes"]
    if "finish" in translated:
        description["files"], note = translated["finish"](description)
        description["notes"] += [note] if note else []
    return description


def describe_once(path, patches, options):
    """Describes the problem at the first size at which it is fit and all its parameters have
    influence. In a deep network a small picture becomes one pixel, of which a softmax leaves
    nothing. If some parameters never have influence, takes the size with the fewest of them."""
    tried, first, last, best = [], None, None, None
    # Then with weights at their own size, then with everything larger.
    for keep_state, times in ((False, 1), (True, 1), (False, 16)):
        try:
            found = describe_at(path, patches, options, keep_state, times, tried)
        except Unfit as unfit:
            first, last = first or unfit, unfit
            if unfit.rule not in OF_SMALLNESS and not best:
                raise first
            continue
        except Exception:  # no memory for a larger size, say
            if best:
                break
            raise
        if found and (best is None or len(found[1]) < len(best[1])):
            best = found
        if best and not best[1]:
            break
    if best is None:
        raise last
    return best[0]


def describe_at(path, patches, options, keep_state, times, tried):
    """Returns (the description, parameters without influence); None if that size was tried before.
    """
    problem = load.Problem.read(path, patches, options.class_name)
    task, notes = declared_task.declared(problem), []
    if options.max_elements:
        most = times * options.max_elements
        found = shrink.shrink(path, patches, options, most, 256 * most, keep_state)
        patches = found.patches
        problem = load.Problem.read(path, patches, options.class_name)
        if (found.elements or 0) > options.max_elements or (
            found.flops or 0
        ) > 256 * options.max_elements:
            notes.append(
                "as small as its constants make it: %d elements%s"
                % (found.elements, ", %.2g flop" % found.flops if found.flops else "")
            )
    size = declared_task.size_of(problem, task, meta.size(problem, options))
    largest = max((t.numel() for t in size.tensors()), default=0) if size else 0
    if largest > MOST_OF_ARGUMENT:
        raise Unfit(
            "size.large", "a tensor has %d elements; a task's has at most 2^40" % largest
        )
    if size is not None and size.outputs is not None and not is_large(size.elements, size.flops):
        small, small_patches, smallest = problem, patches, size.elements
    else:
        small, small_patches, smallest = problem, patches, size.elements if size else None
        # Numbers without a name change only where nothing could be measured otherwise.
        for literals in (False, True):
            found = shrink.shrink(
                path,
                small_patches,
                options,
                times * CHECK_ELEMENTS,
                times * CHECK_FLOPS,
                keep_state,
                keep_names=True,
                literals=literals,
            )
            if found.patches != small_patches:
                small_patches, smallest = found.patches, found.elements
            if not smallest or smallest <= MOST_ELEMENTS:
                break
        if small_patches != patches:
            small = load.Problem.read(path, small_patches, options.class_name)
            changed = {k: v for k, v in small_patches.items() if patches.get(k) != v}
            notes.append("measured at %s" % ", ".join("%s=%s" % item for item in changed.items()))
    if small_patches in tried:
        return None
    tried.append(small_patches)
    if smallest and smallest > MOST_ELEMENTS and size is not None and size.broken:
        raise size.broken
    if smallest and smallest > MOST_ELEMENTS:
        raise Unfit(
            "size.large",
            "%d million elements, and its constants can't be halved to fewer: too large to be measured here"
            % (smallest >> 20),
        )
    declared = declared_task.distributions(small, task)
    args = Arguments(small, options.mode, declared, options.generated)
    if size is not None and size.outputs is None and small is not problem:
        note = full_shapes.complete(path, problem, patches, small_patches, size, options)
        notes += [note] if note else []
    if (size is None or size.outputs is None) and small is not problem:
        raise Unfit(
            "size.unknown",
            "too large to run here, and PyTorch %s can't tell its shapes without running it"
            % torch.__version__,
        )
    measured = measure(args)
    args.look_at_mode(args.values(8), measured)
    args.not_frozen = freezable.why_not(args, options.seconds)
    state_names = list(args.state)
    full = size if small is not problem else None
    if full:
        totals = {i: full.inputs[j].shape[dim] for i, (j, dim) in args.counted.items()}
        # Declared ones follow the size by themselves.
        known = [None if n in declared else s for n, s in zip(args.names, args.specs)]
        until = full_numbers.until(options)
        found, kept, constants = full_numbers.specs(problem, known, full.inputs, totals, until)
        args.specs = [own or spec for own, spec in zip(found, args.specs)]
        args.loosened = [
            i for i in args.loosened if i in constants and args.specs[i].get("low") == 1
        ]
        notes += [
            "input %s: bounds as measured at the smaller size" % args.names[i]
            for i in kept
            if args.specs[i]["kind"] != "permutation"
        ]
    described = assemble(problem, patches, args, state_names, measured, full, notes)
    if task:
        values = declared_task.values_in(small, task)
        declared_task.check_outputs(task, measured, values, "")
        if options.max_elements:
            declared_task.scale(task, path, options)
        declared_task.check_workloads(task, path, options)
        declared_task.complete(task, problem, described)
        described["notes"] += declared_task.look_at_workloads(
            task, path, problem, options, described
        )
    else:
        names = [(row["name"], row["dims"]) for row in described["outputs"]]
        described["unseen"] = unseen.workloads(
            args, problem, options, full, full is None, described["order"], names
        )
    return described, args.idle


def assemble(problem, patches, args, state_names, measured, size, notes):
    taken, inputs, scalars, order = {"out"}, [], [], []
    taken.update("out%d" % i for i in range(len(measured)))
    full_inputs = size.inputs if size else args.first
    for i, (name, value, spec) in enumerate(zip(args.names, full_inputs, args.specs)):
        unique = c_name(name, taken)
        order.append(unique)
        if spec is None:
            dtype = (
                "bool" if isinstance(value, bool) else "i64" if isinstance(value, int) else "f64"
            )
            scalars.append({"name": unique, "dtype": dtype, "value": value})
        else:
            inputs.append(
                {
                    "name": unique,
                    "dtype": dtype_name(value, name),
                    "shape": shape_of(value),
                    "distribution": spec,
                }
            )
    for i in args.loosened:
        row = args.names[i], args.specs[i]["high"] - 1
        notes.append("input %s: constant %d, drawn from 1 to it" % row)
    full_state = size.state if size else {n: t for n, (t, _, _) in args.state.items()}
    state = []
    for name in state_names:
        _, kind, spec = args.state[name]
        spec = dict(spec)
        if spec["kind"] not in UNVARIED:
            spec["vary"] = False
        tensor = full_state[name]
        state.append(
            {
                "name": name,
                "argument": c_name(name.replace(".", "_"), taken),
                "dtype": dtype_name(tensor, name),
                "shape": shape_of(tensor),
                "kind": kind,
                "distribution": spec,
            }
        )
    outputs = []
    for i, output in enumerate(size.outputs if size else measured):
        outputs.append(
            {
                "name": "out" if len(measured) == 1 else "out%d" % i,
                "dtype": dtype_name(output, "output"),
                "shape": shape_of(output),
                "dims": output.dim(),
                "contiguous": args.contiguous[i],
            }
        )
    if len(inputs) + len(state) + len(outputs) + len(scalars) > MOST_ARGUMENTS:
        raise Unfit(
            "arguments.count",
            "%d arguments; a task can have 512"
            % (len(inputs) + len(state) + len(outputs) + len(scalars)),
        )
    return {
        "torch": str(torch.__version__),
        "python": "%d.%d.%d" % sys.version_info[:3],
        "class": problem.class_name,
        "mode": args.mode,
        "doc": (
            one_line(inspect.getdoc(problem.model_class) or "")
            if problem.model_class.__doc__
            else ""
        ),
        "inputs": inputs,
        "order": order,
        "state": state,
        "fixed": args.fixed,
        "outputs": outputs,
        "scalars": scalars,
        "init": jsonable(args.init[0] + [args.init[1]] if args.init[1] else args.init[0]),
        **({"structure": problem.nesting} if problem.nesting else {}),
        "constants": problem.constants(),
        "patches": patches,
        "flops": size.flops if size else args.flops or None,
        "notes": notes + args.notes,
        "unfit": None,
        **({"mode_matters": True} if args.mode_matters else {}),
        **({"tf32": True} if args.tf32 else {}),
        **({"check": True} if hasattr(problem.module, "kforge_check") else {}),
        **(
            {"own_precision": True, "tolerance": args.own_precision} if args.own_precision else {}
        ),
        **({"not_frozen": args.not_frozen} if args.not_frozen else {"frozen": True}),
    }


def place_in(path, reason):
    """Returns the deepest line of the problem file that an exception passed."""
    line = None
    for frame in traceback.extract_tb(reason.__traceback__):
        if frame.filename == path or frame.filename.endswith("/" + path.rsplit("/", 1)[-1]):
            line = frame.lineno
    return line


def too_old(text):
    """Returns what to do if a problem needs a part of PyTorch that this version lacks."""
    return (
        " (PyTorch %s lacks it: a newer one is needed)" % torch.__version__
        if "module 'torch" in text and "has no attribute" in text
        else ""
    )


def run(path, patches, options, how=describe):
    """Returns the description, {"unfit": …} or {"error": …}, with the time it took."""
    started = time.monotonic()
    warnings.simplefilter("ignore")
    try:
        with OnThisDevice():
            result = how(path, patches, options)
    except Unfit as unfit:
        result = {
            "torch": str(torch.__version__),
            "unfit": {"rule": unfit.rule, "reason": unfit.reason},
        }
    except load.LoadError as fault:
        cause = one_line(fault.__cause__ or "")
        if (
            isinstance(fault.__cause__, MemoryError)
            or "not enough memory" in cause
            or "can't allocate" in cause
        ):
            result = {
                "unfit": {"rule": "size.memory", "reason": "needs more memory than it may have"}
            }
        else:
            result = fault.as_json()
    except (
        MemoryError,
        torch.cuda.OutOfMemoryError if hasattr(torch.cuda, "OutOfMemoryError") else MemoryError,
    ) as reason:
        result = {
            "unfit": {
                "rule": "size.memory",
                "reason": "needs more memory than it may have: %s" % one_line(reason),
            }
        }
    except RecursionError:
        result = {"unfit": {"rule": "model.raises", "reason": "forward calls itself without end"}}
    except Exception as reason:
        text = one_line(reason)
        if isinstance(reason, RuntimeError) and (
            "not enough memory" in text or "can't allocate" in text
        ):
            result = {
                "unfit": {"rule": "size.memory", "reason": "needs more memory than it may have"}
            }
        else:
            line = place_in(path, reason)
            result = {
                "unfit": {
                    "rule": "model.raises",
                    "reason": "%s%s: %s%s"
                    % (
                        "%s:%d: " % (os.path.basename(str(path)), line) if line else "",
                        type(reason).__name__,
                        text,
                        too_old(text),
                    ),
                }
            }
    unfit = result.get("unfit")
    if unfit:
        given = unfit["rule"], unfit["reason"], path, how is describe_bundle
        unfit["reason"] = with_remedy(*given)
    result["seconds"] = round(time.monotonic() - started, 3)
    return result


def read_patches(words, parser):
    patches = {}
    for word in words:
        name, _, value = word.partition("=")
        try:
            patches[name] = int(value)
        except ValueError:
            parser.error("--patch %s: expected NAME=INTEGER" % word)
    return patches


def main(arguments):
    parser = argparse.ArgumentParser(prog="describe")
    parser.add_argument("file")
    parser.add_argument("--patch", action="append", default=[], metavar="NAME=INTEGER")
    parser.add_argument(
        "--max-elements",
        type=int,
        default=0,
        help="halve constants until all arguments together have at most so many",
    )
    parser.add_argument(
        "--bundle", action="store_true", help="FILE is a bundle (formats/translate.py)"
    )
    parser.add_argument("--mode", choices=("train", "eval"), default="train")
    parser.add_argument("--class", dest="class_name", default="Model")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument(
        "--seconds",
        type=float,
        required=True,
        help="until it is ended, of which a part is for what can be done without",
    )
    parser.add_argument(
        "--descriptor",
        type=int,
        default=-1,
        help="where the JSON goes; what the problem prints does not",
    )
    options = parser.parse_args(arguments)
    answer = load.Answer(options.descriptor)
    if torch is None:
        result = {
            "error": {
                "what": "PyTorch is missing: %s" % torch_missing,
                "where": sys.executable,
                "todo": "install it (Debian: python3-torch)",
                "machine": True,
            }
        }
    elif tuple(
        int(n) for n in str(torch.__version__).split("+")[0].split(".")[:2] if n.isdigit()
    ) < (1, 13):
        result = {
            "error": {
                "what": "PyTorch %s is too old" % torch.__version__,
                "where": sys.executable,
                "todo": "1.13 or later is needed",
                "machine": True,
            }
        }
    else:
        torch.set_num_threads(max(1, options.threads))
        with contextlib.redirect_stdout(sys.stderr):
            how = describe_bundle if options.bundle else describe
            result = run(options.file, read_patches(options.patch, parser), options, how)
    answer.write(result)
    return 1 if "error" in result else 0
