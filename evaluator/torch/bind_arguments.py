"""A problem's module with the judge's arguments around it: constructs it from a plan, finds the
parameter or buffer that each argument replaces, and calls an oracle in float64."""
import contextlib
import math
import struct

import dry_run
import float64
import parts

# Bytes of a call's arguments. An oracle above this size gives its temporary memory back after each
# batch, for device pools to come.
MUCH = 1 << 30


class Loaded:
    """A module with the judge's arguments around it."""

    def __init__(self, plan, folder, place):
        import load

        self.place = place

        self.torch = __import__("torch")
        self.plan, self.load = plan, load
        self.folder = folder  # of the plan, and of a solution's extensions
        self.role = plan["role"]
        place.use_host_memory(self.role == "oracle")
        # An oracle computes in float64, unless the task says that its module cannot.
        self.widens = self.role == "oracle" and not plan.get("own_precision")
        self.arguments = plan["arguments"]
        self.inputs = range(plan["inputs"])
        self.state = range(plan["inputs"], plan["inputs"] + len(plan["state"]))
        self.outputs = range(self.state.stop, self.state.stop + plan["outputs"])
        self.call_order = plan["forward"]  # argument numbers, in the order of forward
        self.own_state = plan.get("own_state", False)
        self.module = self._build()
        self.targets = [] if self.own_state else self._bind()
        self.makes_others = any(
            self._is_other(number, tensor) for number, tensor, _ in self.targets
        )
        self.forward = self.module
        self.copies = plan.get("copies", False)
        self.library = None  # of an oracle: whether cuDNN computes its convolutions
        self.parts = parts.Parts(self.torch, self.call_widened, self.place, module=self.module)
        self.gives_back = (
            self.role == "oracle" and self.place.kind != "cpu" and self._argument_bytes() >= MUCH
        )
        if plan.get("compile"):
            import compiled

            self.forward = compiled.compile(
                self.module, self.like_judges(place.make(self.problem.inputs)), load.LoadError
            )

    def _argument_bytes(self):
        return sum(
            math.prod(a["shape"])
            * self.torch.empty(0, dtype=self.load.torch_dtype(a["dtype"])).element_size()
            for a in self.arguments
        )

    def _dtype(self, number):
        return self.load.torch_dtype(self.arguments[number]["dtype"])

    def _is_other(self, number, tensor):
        """True if a tensor differs from the judge's in more than its numbers."""
        return tensor.dtype != self._dtype(number) or not tensor.is_contiguous()

    def like_judges(self, given):
        """Makes inputs, and weights in the module, like those of a batch: contiguous, with the
        types and shapes of their arguments."""
        for number, tensor, _ in self.targets:
            tensor.data = tensor.data.to(self._dtype(number)).contiguous()
        shapes = [self.arguments[number]["shape"] for number in self.call_order]
        return [
            (
                self.load.fit(value.detach(), shape)
                if isinstance(value, self.torch.Tensor)
                else value
            )
            for value, shape in zip(given, shapes)
        ]

    def _build(self):
        load, plan = self.load, self.plan
        self.torch.set_default_dtype(self.torch.float32)  # of the plan before this one
        self.place.read_names(
            plan["problem"]["text"], plan["candidate"]["text"] if self.role == "candidate" else ""
        )
        if plan.get("full_f32"):
            self.torch.backends.cudnn.allow_tf32 = False
        problem = load.Problem.of_plan(plan)
        self.problem = problem
        chosen = None
        if self.role == "candidate":
            from cpp_extension import extensions

            text, name = plan["candidate"]["text"], plan["candidate"]["name"]
            dry_run.forget()
            extensions.serve(text, name, self.folder)
            chosen = problem.solution(text, name, plan.get("solution"))
        if self.own_state:
            import frozen

            with frozen.constants(plan["seed"]):
                module = problem.construct(seed=plan["seed"], model_class=chosen)
        else:
            module = (
                self._unfilled(problem) if chosen is None and self.place.kind != "cpu" else None
            )
            if module is None:
                module = problem.construct(seed=plan["seed"], model_class=chosen)
        # A module begins in training mode. If its constructor chooses the other mode, the module
        # stays there, as in KernelBench.
        if plan["mode"] == "eval":
            module.eval()
        module = self.place.move(module)
        if self.widens:  # There, since a GPU widens quickly.
            load.widen(module)
            self.torch.set_default_dtype(self.torch.float64)
        return module

    def _unfilled(self, problem):
        """Constructs the problem's own module with any numbers in the weights that the judge
        brings. Returns None if its constructor has to draw them."""
        import skip_init

        names = set(self.plan["state"])
        module, parameters = skip_init.construct(
            lambda: problem.construct(seed=self.plan["seed"]),
            lambda made: [
                tensor
                for name, tensor, kind in self.load.state_entries(made)
                if kind == "parameter" and name in names
            ],
        )
        for parameter in parameters:
            parameter.data = self.place.some_numbers(parameter)
        return module

    # ---- parameters and buffers ------------------------------------------------------------------

    def _bind(self):
        """Returns (argument number, tensor, its shape) for each argument that is state. State that
        forward itself writes (running statistics of a module in train mode) stays the module's own.
        """
        entries = {
            name: (tensor, kind) for name, tensor, kind in self.load.state_entries(self.module)
        }
        wanted = list(zip(self.state, self.plan["state"]))
        targets, missing = [], []
        for number, name in wanted:
            found = entries.get(name)
            if found is None or list(found[0].shape) != self._shape(number, found[0]):
                missing.append((number, name))
            else:
                targets.append((number, found[0]))
        if missing:
            targets = self._bind_others(wanted, missing, entries, targets)
        own = self._written_by_forward(targets)
        return [
            (number, tensor, tuple(tensor.shape))
            for number, tensor in targets
            if id(tensor) not in own
        ]

    def _shape(self, number, tensor):
        shape = list(self.arguments[number]["shape"])
        return [] if tensor.dim() == 0 and shape == [1] else shape

    def _bind_others(self, wanted, missing, entries, targets):
        """Binds a solution's state. Its names differ from the problem's. A solution may lack
        buffers that it does not need. A parameter that the same seed draws alike is the same one,
        as in KernelBench. Otherwise parameters of equal shapes in equal order are the same ones."""
        made = self.load.state_entries(self.problem.construct(seed=self.plan["seed"]))
        reference = {name: kind for name, _, kind in made}
        missing = [(number, name) for number, name in missing if reference.get(name) != "buffer"]
        alike = self._drawn_alike(
            missing, {name: tensor for name, tensor, _ in made}, entries, targets
        )
        if alike is not None:
            return targets + alike
        here = [tensor for tensor, kind in entries.values() if kind == "parameter"]
        there = [(number, name) for number, name in wanted if reference.get(name) == "parameter"]
        if len(here) == len(there) and all(
            list(t.shape) == self._shape(n, t) for t, (n, _) in zip(here, there)
        ):
            return [(number, tensor) for tensor, (number, _) in zip(here, there)]
        number, name = missing[0]
        raise self.load.LoadError(
            "it has no parameter %s of shape %s" % (name, self.arguments[number]["shape"]),
            (
                self.plan["candidate"]["name"]
                if self.role == "candidate"
                else self.plan["problem"]["name"]
            ),
            "weights are handed over by the names that Model's state_dict gives them, or in its order",
        )

    def _drawn_alike(self, missing, drawn, entries, targets):
        """Returns (argument number, tensor) for each of `missing`, by the values that constructors
        leave. Returns None if a value has no equal."""
        taken, found = {id(tensor) for _, tensor in targets}, []
        for number, name in missing:
            value = drawn[name].detach()
            equal = [
                tensor
                for tensor, kind in entries.values()
                if kind == "parameter"
                and id(tensor) not in taken
                and tensor.shape == value.shape
                and self.torch.equal(tensor.detach().to(value), value)
            ]
            if not equal:
                return None
            taken.add(id(equal[0]))
            found.append((number, equal[0]))
        return found

    def _written_by_forward(self, targets):
        """Returns the ids of state that one call changes or replaces."""
        parameters = {id(parameter) for parameter in self.module.parameters()}
        buffers = [(number, tensor) for number, tensor in targets if id(tensor) not in parameters]
        if not buffers:
            return set()
        before = [(tensor, tensor.clone()) for _, tensor in buffers]
        try:
            self.load.seed_all(self.plan["seed"])
            given = self.place.make(self.problem.inputs)
            if self.widens:
                given = [self._widen(value) for value in given]
            with self.conversions():
                self.module(*given)
        except Exception:
            return set()  # A batch reports it.
        there = {id(tensor) for _, tensor, _ in self.load.state_entries(self.module)}
        return {
            id(tensor)
            for tensor, copy in before
            if not self.torch.equal(tensor, copy) or id(tensor) not in there
        }

    def _widen(self, value):
        return (
            value.double()
            if self.widens and isinstance(value, self.torch.Tensor) and value.is_floating_point()
            else value
        )

    def conversions(self):
        """Returns the context in which an oracle calls its module."""
        if not self.widens:
            return contextlib.nullcontext()
        return float64.conversions(self.plan["problem"]["text"])

    # ---- one set's arguments ---------------------------------------------------------------------

    def tensor(self, number, command, fd, count, widened=False):
        argument = self.arguments[number]
        dtype = self.torch.float64 if widened else self.load.torch_dtype(argument["dtype"])
        return self.place.tensor(command, fd, dtype, count).view(argument["shape"])

    def scalar(self, number, bits):
        argument = self.arguments[number]
        raw, name = struct.pack("<Q", bits), argument["dtype"]
        formats = {
            "f64": "<d",
            "f32": "<f",
            "i64": "<q",
            "i32": "<i",
            "i16": "<h",
            "i8": "<b",
            "u8": "<B",
            "bool": "<?",
            "f16": "<e",
        }
        if name not in formats:
            return None
        return struct.unpack_from(formats[name], raw)[0]

    def prepare(self, buffers, scalars):
        """(arguments of forward, [(tensor of the module, the judge's tensor)]) of a set. The oracle
        converts at each call: inputs change."""
        given = [buffers.get(number, scalars.get(number)) for number in self.call_order]
        # A buffer without extents (num_batches_tracked) is an argument with one element.
        state = [
            (tensor, buffers[number].view(shape))
            for number, tensor, shape in self.targets
            if number in buffers
        ]
        return given, state

    def call_oracle(self, given, state, outputs):
        for target, tensor in state:
            target.data = self._widen(tensor)
        self.parts.run(given, outputs)

    def call_widened(self, given):
        """Calls the module with widened copies of its arguments, since it may write into them."""

        def call():
            with self.conversions():
                return self.module(*[self._widen(value) for value in given])

        if self.place.kind != "cpu" and not self.parts.trying:
            if self.library is None:
                before = self.parts.state()
                self.library = float64.prefers_cudnn(
                    self.plan["problem"]["text"], call, self.place.synchronize
                )
                before.restore()
                self.place.give_back()  # The memory of the other way.
            self.torch.backends.cudnn.enabled = self.library
        return self.load.flatten(call())

    def accepts(self, given, results):
        """True if the problem's own check accepts results for copies of the arguments, in the
        precision of the problem."""
        torch = self.torch
        given = [v.clone() if isinstance(v, torch.Tensor) else v for v in given]
        default = torch.get_default_dtype()
        torch.set_default_dtype(torch.float32)
        try:
            return self.problem.module.kforge_check(given, results)
        finally:
            torch.set_default_dtype(default)

    def forget_widened(self):
        """Frees the memory of an oracle between batches. Others need it."""
        self.drop_state()
        self.place.give_back()

    def drop_state(self):
        for _, target, _ in self.targets:
            target.data = self.torch.empty(0, dtype=target.dtype, device=target.device)
