"""Measures a problem at one size: its inputs, its state and its outputs, and the reasons that make
it unfit (describe.py explains all steps)."""
import contextlib
import copy
import inspect
import math
import time

import torch

import distributions as dist
import float64
import load
from flops import FlopCounter
from generated import Unseeded, draw

FAINT = 0.01  # outputs that other inputs change by less are worth another look
# Outputs that other inputs change by less are held to f32, whatever convolutions may: tf32 leaves
# 0.0015 of them open.
PLAIN = 0.05
UNSTABLE = 0.02  # more of the output than this may no rounding decide
ROUNDING_DRAWS = 4  # in which that is looked at
STRUCTURES = ("equal", "clusters")
MOST_ALONE = 16  # inputs that are tried as the only varied one
# Calls with equal inputs, within these seconds: state may change at each, or at some of them.
CALLS, AGAIN_SECONDS = 40, 0.5
VARIATIONS = ("scale_up", "scale_down", "offset", "outlier", "cancellation")


class Unfit(Exception):
    def __init__(self, rule, reason):
        super().__init__(reason)
        self.rule, self.reason = rule, reason


def one_line(reason):
    text = " ".join(str(reason).split()) or type(reason).__name__
    return text[:300]


def dtype_name(tensor, what):
    name = dist.DTYPES.get(tensor.dtype)
    if name is None:
        raise Unfit(
            "dtype",
            "%s is of dtype %s, which no argument can have"
            % (what, str(tensor.dtype).replace("torch.", "")),
        )
    return name


# ---- inputs --------------------------------------------------------------------------------------


def input_names(model, count):
    """Returns the names of the first `count` parameters of forward."""
    parameters = inspect.signature(model.forward).parameters.values()
    named = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if len(named) < count and not any(p.kind == p.VAR_POSITIONAL for p in parameters):
        raise Unfit(
            "inputs.count", "get_inputs gives %d values, forward takes %d" % (count, len(named))
        )
    return load.forward_names(model, count)


def draw_inputs(problem, seed):
    inputs = draw(problem, seed)
    for i, value in enumerate(inputs):
        if not isinstance(value, (torch.Tensor, bool, int, float)):
            raise Unfit(
                "inputs.type",
                "input %d is a %s; expected a tensor or a number" % (i, type(value).__name__),
            )
        if isinstance(value, torch.Tensor) and value.layout != torch.strided:
            raise Unfit("inputs.type", "input %d is a sparse tensor" % i)
    return inputs


def make_model(problem, seed, mode):
    """Constructs the module. A constructor that seeds itself draws other weights for each seed: the
    judge draws them anew, too."""
    init = problem.init_inputs(seed)
    load.seed_all(seed)
    with Unseeded(problem.module):
        model = problem.construct(init, seed)
    return model.eval() if mode == "eval" else model


def flatten_outputs(result):
    """Returns the output tensors in order. Refuses outputs that no signature can express."""
    if isinstance(result, torch.Tensor):
        return [result]
    try:
        tensors = load.flatten(result)
    except TypeError as error:
        raise Unfit("outputs.type", str(error)) from error
    if not tensors:
        raise Unfit("outputs.type", "the output is %s; expected a tensor" % result)
    return tensors


def aliases(output, others):
    """True if `output` shares memory with one of the tensors."""
    if output.device.type == "meta":
        return None
    here = (
        output.storage().data_ptr()
        if not hasattr(output, "untyped_storage")
        else output.untyped_storage().data_ptr()
    )
    for name, other in others:
        there = (
            other.storage().data_ptr()
            if not hasattr(other, "untyped_storage")
            else other.untyped_storage().data_ptr()
        )
        if here == there and here != 0:
            return name
    return None


# ---- measuring -----------------------------------------------------------------------------------


def require_draws(names, first, second):
    """Refuses inputs of two seeds that are equal, and numbers that differ."""
    tensors = [(a, b) for a, b in zip(first, second) if isinstance(a, torch.Tensor)]
    if all(a.shape == b.shape and torch.equal(a, b) for a, b in tensors):
        raise Unfit("inputs.fixed", "get_inputs gives the same inputs whatever the seed is")
    for name, a, b in zip(names, first, second):
        if not isinstance(a, torch.Tensor) and a != b:
            raise Unfit("inputs.type", "input %s is another number in each draw" % name)


class Arguments:
    """A problem's inputs and state at one size: specifications, and values drawn from them."""

    def __init__(self, problem, mode, declared=None, generated=None):
        """`declared`: {input: distribution}, which need not be measured. `generated`: the reason
        for which get_inputs makes all inputs (generated.py), or None."""
        self.problem, self.mode, self.generated = problem, mode, generated
        with dist.Watch() as watch:
            self.first = draw_inputs(problem, 42)
            watched = [watch.spec(v) if isinstance(v, torch.Tensor) else None for v in self.first]
        second = draw_inputs(problem, 43)
        if len(second) != len(self.first):
            raise Unfit(
                "inputs.random_count", "get_inputs gives another number of inputs each time"
            )
        self.model = make_model(problem, 42, mode)
        self.init = problem.init_inputs(42)
        self.names = input_names(self.model, len(self.first))
        self.notes, self.specs = [], []
        # The tolerance of a task with an oracle in the module's own precision
        self.own_precision = None
        # An input of offsets -> the input and the dimension that its last one counts
        self.counted = {}
        # Inputs of one number that are drawn from 1 to it
        self.loosened = []
        if generated:
            require_draws(self.names, self.first, second)
        for i, (name, a, b, spec) in enumerate(zip(self.names, self.first, second, watched)):
            if not isinstance(a, torch.Tensor):
                self.specs.append(None)
                continue
            dtype_name(a, "input " + name)
            if a.shape != b.shape:
                raise Unfit("inputs.random_shape", "input %s has another shape each time" % name)
            if generated:
                self.specs.append({"kind": "generated"})
                if torch.equal(a, b):
                    self.notes.append("input %s is the same in every draw" % name)
                continue
            spec = (declared or {}).get(name, spec)
            total = None if spec else dist.total_of_offsets(a, b)
            if total and self._find_extent(i, total):
                self.specs.append({"kind": "offsets", "total": total})
                continue
            spec, note = dist.classify(a, b, spec)
            if spec is dist.FIXED:
                raise Unfit(
                    "inputs.fixed",
                    "input %s %s"
                    % (
                        name,
                        note or "is the same pattern in every draw, which the judge can't generate",
                    ),
                )
            if note:
                self.notes.append("input %s: %s" % (name, note))
            self.specs.append(spec)
        self._look_at_state()
        if not any(self.specs) and not self.state:
            raise Unfit(
                "inputs.none",
                "get_inputs gives no tensor and the module has no state: the output would be the "
                "same in every call",
            )

    def _find_extent(self, index, total):
        """Notes the extent of another input that offsets count. False without one."""
        for i, other in enumerate(self.first):
            if i == index or not isinstance(other, torch.Tensor):
                continue
            for dim, extent in enumerate(other.shape):
                if extent == total and index not in self.counted:
                    self.counted[index] = (i, dim)
        return index in self.counted

    def _look_at_state(self):
        """Sets self.state: name -> (tensor, kind, spec), in the order of state_dict, without fixed
        state."""
        other = dict(make_model(self.problem, 43, self.mode).state_dict(keep_vars=True))
        parameters = {id(p) for p in self.model.parameters()}
        self.state, self.fixed, seen = {}, [], {}
        for name, tensor in self.model.state_dict(keep_vars=True).items():
            if not isinstance(tensor, torch.Tensor):
                continue
            place = tensor.data_ptr() if tensor.numel() else None
            if place in seen and seen[place][1] == tensor.shape:
                self.notes.append("%s is %s under another name" % (name, seen[place][0]))
                continue
            seen[place] = (name, tensor.shape)
            kind = "parameter" if id(tensor) in parameters else "buffer"
            dtype_name(tensor, name)
            if not tensor.numel():
                self.fixed.append(name)
                continue
            spec, note = dist.classify(tensor, other[name])
            constant_integer = spec["kind"] == "constant"
            if (spec is dist.FIXED and kind == "buffer") or constant_integer:
                self.fixed.append(name)
                continue
            # A parameter that starts alike each time is trained all the same.
            if spec is dist.FIXED:
                spec, _ = (
                    dist._of_values(tensor.detach().double())
                    if tensor.dtype in dist.FLOATS
                    else (dist._of_integral(tensor, tensor.dtype), None)
                )
            if spec.get("kind") == "signs" or (
                spec["kind"] == "integers" and tensor.dtype in dist.FLOATS
            ):
                spec = {"kind": "uniform", "low": -1, "high": 1}
            if note and not note.startswith("constant"):
                self.notes.append("%s: %s" % (name, note))
            self.state[name] = (tensor, kind, spec)

    def values(self, seed):
        """Returns inputs drawn as the judge draws them. Numbers stay."""
        if self.generated:
            return draw_inputs(self.problem, seed)
        generator = torch.Generator().manual_seed(seed)
        return [
            dist.sample(s, v.shape, v.dtype, generator) if s else v
            for s, v in zip(self.specs, self.first)
        ]

    def fill_state(self, seed, only=None):
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for name, (tensor, _, spec) in self.state.items():
                values = dist.sample(spec, tensor.shape, tensor.dtype, generator)
                if only is None or name in only:
                    tensor.copy_(values)

    def keep_state(self):
        return {k: v.detach().clone() for k, v in self.model.state_dict().items()}

    def others(self, seed):
        """Returns other inputs. A module without inputs gets other state."""
        if not any(self.specs):
            self.fill_state(seed)
        return self.values(seed)

    def call(self, inputs, seed=1, watch=contextlib.nullcontext()):
        """Returns contiguous copies of the outputs, for copies of the inputs."""
        torch.manual_seed(seed)
        given = [v.clone() if isinstance(v, torch.Tensor) else v for v in inputs]
        with torch.no_grad(), watch:
            result = self.model(*given)
        outputs = flatten_outputs(result)
        self.mutated = [
            n
            for n, a, b in zip(self.names, given, inputs)
            if isinstance(a, torch.Tensor) and not torch.equal(a, b)
        ]
        self.alias = [
            aliases(o, [(n, v) for n, v in zip(self.names, given) if isinstance(v, torch.Tensor)])
            for o in outputs
        ]
        self.contiguous = [o.is_contiguous() for o in outputs]
        self.unchanged = [
            a is not None
            and any(
                isinstance(v, torch.Tensor)
                and v.numel() == o.numel()
                and torch.equal(v.reshape(-1), o.reshape(-1))
                for v in inputs
            )
            for a, o in zip(self.alias, outputs)
        ]
        return [o.detach().contiguous().clone() for o in outputs]

    def look_at_mode(self, inputs, outputs):
        """Sets self.mode_matters: true if the other mode gives other outputs, or none."""
        before, modes = self.keep_state(), [(part, part.training) for part in self.model.modules()]
        self.model.train(not self.model.training)
        try:
            others = self.call(inputs)
            self.mode_matters = (
                not same_shapes(outputs, others) or difference(outputs, others) > 1e-4
            )
        except Exception:
            self.mode_matters = True
        for part, training in modes:
            part.training = training
        self.model.load_state_dict(before)


def finite(outputs):
    return all(bool(torch.isfinite(o).all()) for o in outputs if o.dtype in dist.FLOATS)


def difference(a, b):
    """Returns the largest relative difference (RMS of the difference over RMS) of two lists of
    outputs. Shapes must be equal."""
    worst = 0.0
    for x, y in zip(a, b):
        x, y = x.double(), y.double()
        x, y = torch.nan_to_num(x, 0, 1e30, -1e30), torch.nan_to_num(y, 0, 1e30, -1e30)
        scale = max(x.pow(2).mean().sqrt().item(), y.pow(2).mean().sqrt().item())
        change = (x - y).pow(2).mean().sqrt().item()
        worst = max(worst, change / scale if scale > 0 else 0.0)
    return worst


def same_shapes(a, b):
    return len(a) == len(b) and all(x.shape == y.shape and x.dtype == y.dtype for x, y in zip(a, b))


def measure_outputs(args, inputs):
    """Finds random, wrong and constant outputs. Returns the outputs on `inputs`, and by how much
    other inputs change them."""
    before = args.keep_state()
    first = args.call(inputs, seed=1)
    if not first or any(o.numel() == 0 for o in first):
        raise Unfit("outputs.empty", "an output has no elements")
    for i, output in enumerate(first):
        dtype_name(output, "output %d" % i if len(first) > 1 else "the output")
        if args.unchanged[i]:
            raise Unfit("outputs.identity", "the output is the input %s itself" % args.alias[i])
    started, calls = time.monotonic(), 1
    while calls < CALLS and (calls == 1 or time.monotonic() - started < AGAIN_SECONDS):
        again, calls = args.call(inputs, seed=1), calls + 1
        if same_shapes(first, again) and difference(first, again) > 1e-4:
            raise Unfit(
                "outputs.state",
                "call %d with equal inputs and seeds gives other outputs: forward reads what an "
                "earlier call left" % calls,
            )
    args.model.load_state_dict(before)
    second = args.call(inputs, seed=2)
    args.model.load_state_dict(before)
    if not same_shapes(first, second):
        raise Unfit(
            "outputs.random_shape",
            "the shape of an output differs between two calls with the same inputs",
        )
    spread = difference(first, second)
    if spread > 1e-4:
        raise Unfit(
            "outputs.random",
            "two calls with the same inputs differ (by %.2g of the output): forward is random"
            % spread,
        )
    if all(not o.double().abs().max().item() > 0 for o in first):
        others = [args.call(args.others(s)) for s in (11, 12)]
        args.model.load_state_dict(before)
        if all(not o.double().abs().max().item() > 0 for outputs in others for o in outputs):
            raise Unfit("outputs.zero", "the output is zero whatever the inputs are")
    third = args.call(args.others(21))
    args.model.load_state_dict(before)
    if not same_shapes(first, third):
        raise Unfit(
            "outputs.data_shape", "the shape of an output depends on the values of the inputs"
        )
    change = difference(first, third)
    if change == 0:
        raise Unfit("outputs.constant", "the output is the same for all inputs")
    if change < 1e-4:
        raise Unfit(
            "outputs.nearly_constant",
            "other inputs change the output by %.1g of it only: one table of the answer would pass"
            % change,
        )
    return first, change


def measure_inputs(args, inputs, outputs):
    before = args.keep_state()
    others = args.values(31)
    for i, spec in enumerate(args.specs):
        if spec is None or len([s for s in args.specs if s]) == 1:
            continue
        if torch.equal(inputs[i], others[i]):  # offsets of one row: no other values exist
            continue
        try:
            changed = args.call(inputs[:i] + [others[i]] + inputs[i + 1 :])
        except Exception:
            if not args.generated:
                raise
            changed = []  # It has to fit the others, so it has influence.
        args.model.load_state_dict(before)
        if same_shapes(outputs, changed) and difference(outputs, changed) == 0:
            reason = "input %s does not influence the output" % args.names[i]
            # Its own inputs may be the only ones that a problem takes, and show no more of it.
            if not args.generated or str(args.generated) == reason:
                raise Unfit("inputs.without_influence", reason)
            args.notes.append("%s: a candidate may ignore it" % reason)


def without_gradient(args, inputs):
    """Returns the names of parameters that no gradient reaches: all of them for an output without
    gradients (integers)."""
    wanted = {
        n: t
        for n, (t, kind, _) in args.state.items()
        if kind == "parameter" and t.dtype in dist.FLOATS
    }
    if not wanted:
        return []
    before = args.keep_state()
    flags = {n: t.requires_grad for n, t in wanted.items()}
    try:
        for tensor in wanted.values():
            tensor.requires_grad_(True)
        outputs = [
            o
            for o in flatten_outputs(args.model(*inputs))
            if o.dtype in dist.FLOATS and o.requires_grad
        ]
        generator = torch.Generator().manual_seed(5)
        total = sum(
            (o * torch.rand(o.shape, generator=generator).to(o.dtype)).sum() for o in outputs
        )
        gradients = (
            torch.autograd.grad(total, list(wanted.values()), allow_unused=True)
            if outputs
            else [None] * len(wanted)
        )
        unreached = [n for n, g in zip(wanted, gradients) if g is None or not bool((g != 0).any())]
    except RuntimeError:  # in-place operations on leaves and the like: ask each one
        unreached = list(wanted)
    for name, tensor in wanted.items():
        tensor.requires_grad_(flags[name])
    args.model.load_state_dict(before)
    return unreached


def drop_state_without_influence(args, inputs, outputs):
    """Moves state without influence on the output from args.state to args.fixed. args.idle: the
    parameters among it."""
    suspects = without_gradient(args, inputs) + [
        n
        for n, (t, kind, _) in args.state.items()
        if kind == "buffer" or t.dtype not in dist.FLOATS
    ]
    before = args.keep_state()

    def influences(names):
        args.fill_state(41, set(names))
        changed = args.call(inputs)
        args.model.load_state_dict(before)
        return not same_shapes(outputs, changed) or difference(outputs, changed) > 0

    def sift(names):
        """Returns those of `names` without influence, by halving groups that have some."""
        if not names:
            return []
        if not influences(names):
            return list(names)
        if len(names) == 1:
            return []
        middle = len(names) // 2
        return sift(names[:middle]) + sift(names[middle:])

    idle = sift(suspects)
    args.idle = [name for name in idle if args.state[name][1] == "parameter"]
    for name in idle:
        del args.state[name]
    args.fixed += idle
    if idle:
        args.notes.append(
            "without influence, left as the module has them: %s"
            % ", ".join(idle[:6] + (["… %d in all" % len(idle)] if len(idle) > 6 else []))
        )


def choose_variations(args, inputs):
    """Decides for each floating-point input if the judge may vary it: the output has to stay
    finite. Tries all at once, then the first ones alone."""
    before = args.keep_state()
    generator = torch.Generator().manual_seed(6)
    candidates = [
        i for i, s in enumerate(args.specs) if s is not None and s["kind"] in ("normal", "uniform")
    ]

    def stays_finite(which):
        for how in VARIATIONS:
            given = [
                (
                    dist.varied(v.float(), how, generator).to(v.dtype)
                    if i in which and applies(args.specs[i], how)
                    else v
                )
                for i, v in enumerate(inputs)
            ]
            good = finite(args.call(given))
            args.model.load_state_dict(before)
            if not good:
                return False
        return True

    choose_structures(args, inputs)
    if not candidates or stays_finite(candidates):
        return
    tried = candidates[:MOST_ALONE] if len(candidates) > 1 else []
    alone = [i for i in tried if stays_finite([i])]
    good = alone if len(alone) < 2 or stays_finite(alone) else alone[:1]
    others = [i for i in candidates if i not in good]
    for i in others:
        args.specs[i]["vary"] = False
    names = [args.names[i] for i in others[:6]]
    if len(others) > 6:
        names.append("… %d in all" % len(others))
    if others:
        args.notes.append(
            "%s %s: not varied, the output would not stay finite"
            % ("input" if len(others) == 1 else "inputs", ", ".join(names))
        )


def choose_structures(args, inputs):
    """Decides for each input of integers if the judge may vary it: forward has to take all of them
    equal or in clusters, and the output has to stay finite."""
    before = args.keep_state()
    generator = torch.Generator().manual_seed(9)
    for i, spec in enumerate(args.specs):
        for how in STRUCTURES if spec else ():
            other = dist.structured(spec, inputs[i], how, generator)
            if other is None or spec.get("vary") is False:
                continue
            try:
                good = finite(args.call(inputs[:i] + [other] + inputs[i + 1 :]))
            except Exception:
                good = False
            args.model.load_state_dict(before)
            if not good:
                spec["vary"] = False
                args.notes.append(
                    "input %s: not varied, forward fails or the output would not stay finite"
                    % args.names[i]
                )


def up_to(constant):
    """Returns the distribution of an input that is always `constant`, such as a length."""
    return {"kind": "integers", "low": 1, "high": constant + 1}


def loosen_constants(args):
    """Draws an integer input that is always one number, such as a length, from 1 to that number, if
    forward takes it."""
    before, generator = args.keep_state(), torch.Generator().manual_seed(10)
    for i, spec in enumerate(args.specs):
        tensor = args.first[i]
        if not spec or spec["kind"] != "constant" or tensor.dtype in dist.FLOATS:
            continue
        if tensor.dtype == torch.bool or spec["value"] < 2:
            continue
        trial = up_to(spec["value"])
        other = dist.sample(trial, tensor.shape, tensor.dtype, generator)
        try:
            given = args.values(8)
            outputs = args.call(given)
            others = args.call(given[:i] + [other] + given[i + 1 :])
            good = same_shapes(outputs, others) and finite(others)
        except Exception:
            good = False
        args.model.load_state_dict(before)
        if good:
            args.specs[i] = trial
            args.loosened.append(i)


def widen_copied(args, inputs, outputs):
    """Draws an input around 0 if the output is a copy of it where it is positive (a ReLU). True if
    there was one."""
    found = False
    for i, spec in enumerate(args.specs):
        if not spec or spec["kind"] != "uniform" or spec.get("low", 0) < 0:
            continue
        copied = any(
            o.dtype == inputs[i].dtype
            and o.numel() == inputs[i].numel()
            and torch.equal(o.reshape(-1), inputs[i].reshape(-1))
            for o in outputs
        )
        if copied:
            high = spec.get("high", 1)
            args.specs[i] = {"kind": "uniform", "low": -high, "high": high}
            args.notes.append(
                "input %s: drawn around 0, because the output is a copy of positive ones"
                % args.names[i]
            )
            found = True
    return found


def applies(spec, how):
    return (
        how != "cancellation"
        or spec["kind"] == "normal"
        or spec.get("low", 0) < 0 < spec.get("high", 1)
    )


def own_weights(args, original):
    """Gives constant weights their constants back if varied ones make the output overflow."""
    args.model.load_state_dict(original)
    for name, (tensor, kind, _) in list(args.state.items()):
        own = tensor.detach().double()
        if own.min().item() == own.max().item():
            args.state[name] = (
                tensor,
                kind,
                {"kind": "constant", "value": dist._number(own.min().item())},
            )
    args.notes.append("constant weights stay constant: varied ones make the output overflow")


def spread_weights(args):
    """Spreads weights so that a signal keeps its size through linear layers and ReLU (He et al.
    2015). With PyTorch's initial weights a signal fades from layer to layer, until only biases
    decide the output."""
    kept = dict(args.state)
    for name, (tensor, kind, spec) in list(args.state.items()):
        if (
            kind != "parameter"
            or tensor.dim() < 2
            or spec["kind"] not in ("normal", "uniform")
            or tensor.dtype not in dist.FLOATS
        ):
            continue
        bound = dist._number(math.sqrt(6 / max(1, math.prod(tensor.shape[1:]))))
        args.state[name] = (tensor, kind, {"kind": "uniform", "low": -bound, "high": bound})
    return kept


def rounding_error(args, inputs, outputs):
    """Returns the difference to the module's output in float64."""

    def doubled(value):
        return (
            value.double()
            if isinstance(value, torch.Tensor) and value.dtype in dist.FLOATS
            else value
        )

    exact_model = copy.deepcopy(args.model)
    load.widen(exact_model)
    default = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        with torch.no_grad(), float64.conversions(args.problem.text):
            exact = flatten_outputs(exact_model(*[doubled(v) for v in inputs]))
    finally:
        torch.set_default_dtype(default)
    return (
        difference(outputs, exact)
        if len(exact) == len(outputs) and all(a.shape == b.shape for a, b in zip(exact, outputs))
        else 0
    )


def keep_precision(args, inputs, outputs, reason):
    """Lets the oracle compute as the module does, because float64 is not possible. The tolerances
    are KernelBench's: 1e-4 for f32, 1e-2 below, relative to each element and to the RMS."""
    tensors = [v for v in inputs if isinstance(v, torch.Tensor)] + outputs
    tensors += list(args.model.state_dict().values())
    narrow = any(t.dtype in dist.FLOATS and t.element_size() < 4 for t in tensors)
    part = 1e-2 if narrow else 1e-4
    rms = max(o.double().pow(2).mean().sqrt().item() for o in outputs)
    # A problem in a format of others may say how exact a result has to be.
    given = getattr(args.problem.module, "KFORGE_TOLERANCE", None)
    part, atol = given if given else (part, dist._number(part * rms))
    args.own_precision = {"allclose": {"rtol": part, "atol": atol}}
    args.notes.append(
        "the oracle computes in the module's own precision, with a tolerance of %g: %s"
        % (part, reason)
    )


def measure_rounding(args, inputs, outputs):
    """Decides if rounding decides the output: a batch norm over two values gives ±1 by their order.
    One draw may hide it, so others are tried, of weights as well."""

    own = getattr(args.problem.module, "KFORGE_OWN_PRECISION", None)
    if own:
        keep_precision(args, inputs, outputs, own)
        return
    if not all(o.dtype in dist.FLOATS for o in outputs):
        return
    before = args.keep_state()
    try:
        worst = rounding_error(args, inputs, outputs)
        for seed in range(ROUNDING_DRAWS - 1):
            if worst > UNSTABLE:
                break
            args.fill_state(71 + seed)
            others, drawn = args.values(81 + seed), args.keep_state()
            outputs = args.call(others)
            args.model.load_state_dict(drawn)
            worst = max(worst, rounding_error(args, others, outputs))
    except Exception as reason:
        keep_precision(args, inputs, outputs, "in float64 it fails (%s)" % one_line(reason))
        return
    finally:
        args.model.load_state_dict(before)
    module = args.problem.module
    # The problem's own tolerance, or its own check, allows as much.
    allowed = (getattr(module, "KFORGE_TOLERANCE", None) or [0])[0] >= worst
    if worst > UNSTABLE and (allowed or hasattr(module, "kforge_check")):
        keep_precision(args, inputs, outputs, "in float64 the output differs by %.2g" % worst)
    elif worst > UNSTABLE:
        raise Unfit(
            "outputs.unstable",
            "in float64 the output differs by %.2g of it: rounding decides" % worst,
        )


def measure(args):
    """Does all measurements at a size that is quick. Returns the outputs."""
    original = args.keep_state()
    args.fill_state(7)
    loosen_constants(args)
    inputs = args.values(8)
    counter = FlopCounter()
    try:
        outputs = args.call(inputs, watch=counter)
        good = finite(outputs)
        if not any(args.alias) and widen_copied(args, inputs, outputs):
            inputs = args.values(8)
            good = finite(args.call(inputs))
    except Unfit:
        raise
    except Exception as reason:  # the model itself can't take what the specification says
        args.model.load_state_dict(original)
        args.call(args.first)  # raises what is wrong with the problem itself
        raise Unfit(
            "inputs.distribution",
            "forward takes its own inputs but not others drawn alike: %s" % one_line(reason),
        ) from reason
    if not good:
        own_weights(args, original)
        args.fill_state(7)
        if not finite(args.call(inputs)):
            raise Unfit("outputs.nonfinite", "the output has NaN or infinities for finite inputs")
    args.flops = counter.total
    args.tf32 = counter.convolves or any(
        isinstance(m, torch.nn.RNNBase) for m in args.model.modules()
    )
    args.model.load_state_dict(original)
    args.fill_state(7)
    try:
        outputs, change = measure_outputs(args, inputs)
    except Unfit as unfit:
        if unfit.rule != "outputs.nearly_constant":
            raise
        outputs, change = None, 0
    if change < FAINT and any(kind == "parameter" for _, kind, _ in args.state.values()):
        kept = spread_weights(args)
        args.model.load_state_dict(original)
        args.fill_state(7)
        if finite(args.call(inputs)):
            try:
                new_outputs, new_change = measure_outputs(args, inputs)
                if new_change > 2 * change:
                    outputs, change, kept = new_outputs, new_change, None
                    args.notes.append(
                        "weights drawn further apart than PyTorch begins with, so that the output depends on the input"
                    )
            except Unfit:
                pass
        if kept:
            args.state = kept
            args.model.load_state_dict(original)
            args.fill_state(7)
    if outputs is None:
        raise Unfit(
            "outputs.nearly_constant",
            "other inputs hardly change the output: one table of the answer would pass",
        )
    if change < FAINT:
        args.notes.append("other inputs change the output by %.2g of it only" % change)
    args.tf32 = args.tf32 and change >= PLAIN
    if args.mutated:
        args.notes.append("forward writes into %s: candidates must not" % ", ".join(args.mutated))
    measure_inputs(args, inputs, outputs)
    measure_rounding(args, inputs, outputs)
    drop_state_without_influence(args, inputs, outputs)
    choose_variations(args, inputs)
    return outputs
