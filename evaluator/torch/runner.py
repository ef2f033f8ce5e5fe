"""A runner in Python. It speaks evaluator/protocol/wire.h as kforge-runner does, in one of three
roles:

  baseline   the problem's own Model in its precision, eager or through torch.compile (compiled.py)
  oracle     the same module in float64; it writes its results into the buffers of the truth
  candidate  class ModelNew of a solution

A plan with "claim" runs KernelBench's protocol on the solution while it loads (kernelbench.py). Its
runner serves nothing else.

The judge believes nothing that this program says, because a candidate lives in the same
interpreter. Inputs and weights are the judge's buffers, mapped by descriptor. Results stay where
PyTorch put them. After the answer to a batch every thread of this process is stopped. The judge
then reads the results from its memory (evaluator/judge/python/output_directory.h), or, on a GPU,
from the device pool (evaluator/judge/cuda/device_pool_cuda.h). cpu.py and gpu.py know the
difference. So no copy is timed, and nothing can be computed after the clock has stopped.

The output directory, which is shared memory, says where each result lies. The runner keeps results
until the judge has read them. So results of a batch share no memory, unless the module itself
shares it.

The judge times everything between a request and its answer, so that part is short. The order at the
start: PyTorch with its threads, the hello, the files of a solution's dry run (dry_run.py), the
second system call filter, and only then foreign code.
"""
import array
import contextlib
import ctypes
import gc
import json
import math
import mmap
import os
import socket
import struct
import sys
import warnings
from time import monotonic  # Bound here, since a solution may patch the module.

import torch_state_guard
import dry_run
import float64
import parts

WIRE_FD = 3
MAGIC = 0x31676B66
MOST_SETS, MOST_ARGUMENTS, MOST_DIMS = 1024, 512, 8
# Bytes of a call's arguments. An oracle above this size gives its temporary memory back after each
# batch, for device pools to come. So does one with so much temporary memory.
MUCH = 1 << 30
MUCH_TEMPORARY = 8 << 30
LOAD, SCALARS, MAP, UNMAP, PING, BATCH, QUIT, COUNT = 1, 2, 3, 4, 5, 6, 7, 8
NULL, READ_ONLY, LEDGER, FORGET, ARENA, STREAM_PAGE = 1, 2, 4, 8, 16, 32
PROGRESS, CHECK = 128, 1024
OK, LOAD_FAILED, DEVICE_ERROR, MAP_FAILED, BAD_COMMAND = 0, 1, 2, 3, 4
# codes of DEVICE_ERROR
OUT_OF_MEMORY, EXCEPTION, EXCEPTION_OF_OTHERS, REFUSED = 2, 20001, 20002, 20003
OUT_OF_MEMORY_WORDS = ("can't allocate memory", "not enough memory", "CUDA out of memory")
COMMAND = struct.Struct("<IIQIIIIQQQQQQII")
ANSWER = struct.Struct("<IIQiIdd")
SPIN_SECONDS = 0.0003
NO_OBJECT = ctypes.py_object()

# The output directory: for each set a head (returned tensors, flaw), then an entry for each output
# (address, dtype, dims, sizes, strides).
HEAD = struct.Struct("<II8x")
ENTRY = struct.Struct("<QII8q8q")
ADDRESS = struct.Struct("<Q")
FLAW_NONE, FLAW_TYPE, FLAW_LAYOUT, FLAW_REPLACED = 0, 1, 2, 3
# PyTorch's message about results of its CUDA graphs.
REPLACED_WORDS = "has been overwritten by a subsequent run"
# kf_dtype
DTYPE_CODES = [
    "f64",
    "f32",
    "tf32",
    "f16",
    "bf16",
    "f8e4m3",
    "f8e5m2",
    "i64",
    "i32",
    "i16",
    "i8",
    "u8",
    "bool",
]


def complain(text):
    try:
        sys.stderr.write("kforge-torch: %s\n" % text)
        sys.stderr.flush()
    except Exception:
        pass


LIBRARIES = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def lock_down():
    """Installs the second system call filter. Returns 0 or a negative errno."""
    return ctypes.CDLL(os.path.join(LIBRARIES, "libkflockdown.so")).kf_sandbox_lockdown()


class CallsPlan(ctypes.Structure):
    """kf_calls_plan of evaluator/runner/python_calls.c."""

    _fields_ = [
        ("directory", ctypes.c_void_p),
        ("stride", ctypes.c_uint64),
        ("count", ctypes.c_uint64),
        ("plain", ctypes.c_void_p),
        ("type", ctypes.py_object),
        ("dtype", ctypes.py_object),
        ("shape", ctypes.py_object),
        ("device_test", ctypes.py_object),
        ("first", ctypes.c_uint64),
        ("end", ctypes.c_uint64),
        ("delta", ctypes.c_uint64),
    ]


def load_calls():
    library = ctypes.PyDLL(os.path.join(LIBRARIES, "libkfcalls.so"))
    library.kf_calls_make.argtypes = (
        [ctypes.py_object] * 6 + [ctypes.c_void_p] * 2 + [ctypes.c_uint32] * 2
    )
    library.kf_calls_record.argtypes = [ctypes.POINTER(CallsPlan)] + [ctypes.py_object] * 3
    return library


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
        problem = load.Problem(
            plan["problem"]["text"],
            plan["problem"]["name"],
            plan["patches"],
            plan["class"],
            nesting=plan.get("structure"),
        )
        self.problem = problem
        chosen = None
        if self.role == "candidate":
            import extensions

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


def copied(result, tensor, clone):
    """Returns a result with new tensors in place of its own, copied in the stream of the call, as
    the next layer would read them. `tensor`, `clone`: PyTorch's own."""
    if isinstance(result, tensor):
        return clone(result)
    if isinstance(result, (list, tuple)):
        return [copied(value, tensor, clone) for value in result]
    if isinstance(result, dict):
        return {key: copied(value, tensor, clone) for key, value in result.items()}
    return result  # The output directory says what is wrong with it.


class Runner:
    def __init__(self, path, torch, place, locks):
        self.path, self.torch, self.place = path, torch, place
        self.locks = locks  # The second filter is not installed yet.
        self.socket = socket.socket(fileno=WIRE_FD)
        self.loaded = None
        # (text of its plan, what was loaded), where that went through torch.compile.
        self.compiled = None
        self.buffers = {}  # set -> {argument: tensor}
        self.checked = {}  # the same, of results that the problem's own check gets
        self.scalars = {}
        self.prepared = {}
        self.kept = []
        self.ledger = self.calls_plan = self.begun = None
        self.pinged = 0.0
        # Bound here, since a solution may patch the class.
        self.tensor_and_clone = torch.Tensor, torch.Tensor.clone
        library = load_calls()
        self.make_calls, self.record_calls = library.kf_calls_make, library.kf_calls_record
        self.beginning = torch_state_guard.Beginning(torch)

    # ---- talking ---------------------------------------------------------------------------------

    def receive_all(self, size):
        parts = bytearray()
        while len(parts) < size:
            piece = self.socket.recv(size - len(parts))
            if not piece:
                return None
            parts += piece
        return bytes(parts)

    def receive_command(self):
        """Returns a command and its descriptor (-1 without one). Returns None at the end."""
        until = self.pinged + SPIN_SECONDS
        while monotonic() < until:  # A batch follows a ping at once, and waking up would be timed.
            try:
                self.socket.recv(1, socket.MSG_DONTWAIT | socket.MSG_PEEK)
                break
            except BlockingIOError:
                pass
        data, ancillary, _, _ = self.socket.recvmsg(
            COMMAND.size, socket.CMSG_SPACE(4), socket.MSG_WAITALL | socket.MSG_CMSG_CLOEXEC
        )
        fd = -1
        for level, kind, content in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                fds = array.array("i")
                fds.frombytes(content[: fds.itemsize])
                fd = fds[0]
        if len(data) != COMMAND.size:
            return None
        command = COMMAND.unpack(data)
        return (command, fd) if command[0] == MAGIC else None

    def answer(self, nonce, result, code=0, claimed=0.0, gap=0.0):
        self.socket.sendall(ANSWER.pack(MAGIC, result, nonce, code, 0, claimed, gap))

    # ---- commands --------------------------------------------------------------------------------

    def load_plan(self):
        try:
            self.loaded = None
            with open(self.path, encoding="utf-8") as file:
                text = file.read()
            plan = json.loads(text)
            folder = os.path.dirname(self.path)
            if "candidate" in plan:
                dry_run.take(folder, plan["candidate"]["text"])
            self.lock()
            if "candidate" in plan:
                import virtual_fs

                virtual_fs.install()
            if plan.get("claim"):
                import kernelbench

                kernelbench.run(plan, folder, self.place)
                return OK
            self.place.read_names()
            self.beginning.restore(self.torch, (plan["problem"]["text"], plan.get("full_f32")))
            self.scalars.clear()
            self.loaded = (
                self._compile(text, plan, folder)
                if plan.get("compile")
                else Loaded(plan, folder, self.place)
            )
            return OK
        except BaseException as error:  # Also SystemExit and KeyboardInterrupt of a foreign file.
            load = sys.modules.get("load")
            plain = load is not None and isinstance(error, load.LoadError)
            complain(str(error) if plain else "%s: %s" % (type(error).__name__, error))
            return LOAD_FAILED

    def lock(self):
        """Installs the filter, once. The files of a dry run need folders, so they come with the
        first plan. A runner without a plan has the filter before it is timed."""
        if self.locks:
            self.locks = False
            refused = lock_down()
            if refused:
                complain("second filter refused: %s" % os.strerror(-refused))

    def _compile(self, text, plan, folder):
        """Compiles, once. Afterwards this process starts no program any more. The judge relies on
        that when it stops the process (kf_sandbox_settle)."""
        if self.compiled is None:
            self.compiled = text, Loaded(plan, folder, self.place)
            refused = lock_down()
            if refused:
                complain("second filter refused: %s" % os.strerror(-refused))
        if self.compiled[0] != text:
            raise RuntimeError(
                "this process has compiled another plan, and starts no compiler any more"
            )
        return self.compiled[1]

    def take_scalars(self, count):
        payload = self.receive_all(8 * count)
        if payload is None:
            return False
        values = struct.unpack("<%dQ" % count, payload)
        if self.loaded is not None:
            for number in range(self.loaded.outputs.stop, min(count, len(self.loaded.arguments))):
                self.scalars[number] = self.loaded.scalar(number, values[number])
        self.prepared.clear()
        return True

    def map_buffer(self, command, fd):
        _, _, _, _, flags, number, argument, _, length, _, size = command[:11]
        shares = flags & PROGRESS
        if fd < 0 or number >= MOST_SETS or argument >= MOST_ARGUMENTS or not (length or shares):
            return BAD_COMMAND
        try:
            if shares:
                self.progress = self.place.share_progress(fd)
                self.begun = None if self.progress is None else ctypes.addressof(self.progress)
                return OK
            if flags & ARENA:
                return OK if self.place.take_arena(command, fd) else BAD_COMMAND
            if flags & STREAM_PAGE:
                self.place.take_page(command, fd)
                return OK
            if self.loaded is None:
                return BAD_COMMAND
            if flags & CHECK:
                self.checked.setdefault(number, {})[argument] = self.result(argument, command, fd)
                return OK
            if flags & LEDGER:
                self.open_ledger(
                    mmap.mmap(fd, length, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)
                )
                return OK
            widened = argument in self.loaded.outputs and self.loaded.role == "oracle"
            item = size // self._elements(argument)
            widened = widened and item == 8 and "f" in self.loaded.arguments[argument]["dtype"]
            tensor = self.loaded.tensor(argument, command, fd, self._elements(argument), widened)
            self.buffers.setdefault(number, {})[argument] = tensor
            return OK
        except Exception as error:
            complain("mapping a buffer: %s: %s" % (type(error).__name__, error))
            return MAP_FAILED

    def result(self, number, command, fd):
        """Returns a copy of an output, from a file in host memory."""
        argument, offset, size = self.loaded.arguments[number], command[7], command[10]
        data = bytearray(os.pread(fd, size, offset))
        dtype = self.loaded.load.torch_dtype(argument["dtype"])
        if not data:
            return self.torch.empty(argument["shape"], dtype=dtype)
        tensor = self.torch.frombuffer(data, dtype=dtype).view(argument["shape"])
        return self.place.make(lambda: [tensor])[0]

    def _elements(self, argument):
        count = 1
        for extent in self.loaded.arguments[argument]["shape"]:
            count *= extent
        return count

    def unmap(self):
        self.kept.clear()
        self.checked.clear()
        self.prepared.clear()
        self.buffers.clear()
        self.ledger = self.calls_plan = self.calls_memory = None
        if self.loaded:
            self.loaded.drop_state()
        self.place.release()

    # ---- results ---------------------------------------------------------------------------------

    def open_ledger(self, memory):
        """Fills every entry with its expected contents, so that a batch writes only addresses."""
        loaded = self.loaded
        self.ledger = memory
        self.expected = []
        self.stride = HEAD.size + ENTRY.size * len(loaded.outputs)
        for number in loaded.outputs:
            argument = loaded.arguments[number]
            model = self.torch.empty(
                argument["shape"], dtype=loaded.load.torch_dtype(argument["dtype"]), device="meta"
            )
            self.expected.append((model.dtype, tuple(model.shape), tuple(model.stride())))
        self.packed = {}  # what an entry says behind its address, by dtype, shape and strides
        self.kind, self.address = self.place.kind, self.place.address
        room = self.kind if self.kind == "cpu" else "meta"  # only call_nothing needs it
        nothing = [
            self.torch.empty(shape, dtype=dtype, device=room) for dtype, shape, _ in self.expected
        ]
        self.nothing = nothing[0] if len(nothing) == 1 else nothing
        count = len(memory) // self.stride
        self.plain = bytearray(b"\1" * count)
        for number in range(count):
            self._plain_entries(number * self.stride)
        self._plan_calls(count)

    def _plan_calls(self, count):
        self.calls_memory = [
            (ctypes.c_ubyte * len(memory)).from_buffer(memory)
            for memory in (self.ledger, self.plain)
        ]
        directory, plain = [ctypes.addressof(memory) for memory in self.calls_memory]
        usual = ()
        if len(self.expected) == 1:
            usual = (self.tensor_and_clone[0],) + self.expected[0][:2] + ("is_" + self.kind,)
        self.calls_plan = CallsPlan(directory, self.stride, count, plain, *usual)

    def _plain_entries(self, at):
        HEAD.pack_into(self.ledger, at, len(self.expected), FLAW_NONE)
        for i, (dtype, shape, strides) in enumerate(self.expected):
            self._entry(at + HEAD.size + i * ENTRY.size, 0, dtype, shape, strides)

    def _entry(self, at, address, dtype, shape, strides):
        key = (dtype, shape, strides)
        found = self.packed.get(key)
        if found is None:
            found = self.packed[key] = self._pack(dtype, shape, strides)
        ADDRESS.pack_into(self.ledger, at, address)
        self.ledger[at + ADDRESS.size : at + ENTRY.size] = found

    def _pack(self, dtype, shape, strides):
        name = self.loaded.load.dtype_name(dtype)
        code = DTYPE_CODES.index(name) if name in DTYPE_CODES else 0xFFFF
        dims = len(shape)
        sizes = list(shape[:MOST_DIMS]) + [0] * (MOST_DIMS - min(dims, MOST_DIMS))
        steps = list(strides[:MOST_DIMS]) + [0] * (MOST_DIMS - min(dims, MOST_DIMS))
        return ENTRY.pack(0, code, dims, *sizes, *steps)[ADDRESS.size :]

    def write_ledger(self, number, result):
        """Writes where the results of a call lie. The usual case is one tensor of the expected
        kind."""
        at = number * self.stride
        try:
            if (
                self.plain[number]
                and len(self.expected) == 1
                and isinstance(result, self.torch.Tensor)
            ):
                dtype, shape, strides = self.expected[0]
                here = result.device.type == self.kind
                if (
                    here
                    and result.dtype is dtype
                    and result.shape == shape
                    and result.stride() == strides
                    and not result.is_neg()
                ):
                    ADDRESS.pack_into(self.ledger, at + HEAD.size, self.address(result.data_ptr()))
                    return result
            self.plain[number] = False  # Its record has changed.
            return self._write_any(at, result)
        except RuntimeError as error:
            if REPLACED_WORDS not in str(error):
                raise
            self.plain[number] = False
            HEAD.pack_into(self.ledger, at, 0, FLAW_REPLACED)
            return result

    def _write_any(self, at, result):
        try:
            tensors = self.loaded.load.flatten(result)
        except (TypeError, RecursionError):
            HEAD.pack_into(self.ledger, at, 0, FLAW_TYPE)
            return result
        # KernelBench compares tensors, not containers.
        if isinstance(result, (list, tuple, dict)) and len(self.expected) == 1:
            HEAD.pack_into(self.ledger, at, len(tensors), FLAW_TYPE)
            return result
        HEAD.pack_into(self.ledger, at, len(tensors), FLAW_NONE)
        kept = []
        for i, tensor in enumerate(tensors[: len(self.expected)]):
            if tensor.layout != self.torch.strided or tensor.device.type != self.kind:
                HEAD.pack_into(self.ledger, at, len(tensors), FLAW_LAYOUT)
                return result
            if tensor.is_neg():
                tensor = tensor.resolve_neg()
            kept.append(tensor)
            address = self.address(tensor.data_ptr())
            self._entry(
                at + HEAD.size + i * ENTRY.size,
                address,
                tensor.dtype,
                tuple(tensor.shape),
                tuple(tensor.stride()),
            )
        return kept

    # ---- batches ---------------------------------------------------------------------------------

    def prepare(self, number):
        found = self.prepared.get(number)
        if found is None:
            given, state = self.loaded.prepare(self.buffers.get(number, {}), self.scalars)
            found = self.prepared[number] = tuple(given), state
        return found

    def run_batch(self, nonce, count, flags):
        payload = self.receive_all(4 * count)
        if payload is None:
            return False
        order = struct.unpack("<%dI" % count, payload)
        started = monotonic()
        code, gap = 0, 0.0
        try:
            if self.loaded is None and not flags & NULL:
                self.answer(nonce, BAD_COMMAND)
                return True
            if self.loaded is None:
                self.place.nothing()  # A runner without a plan calls nothing.
            elif flags & NULL:
                self.call_nothing(order)
            elif flags & CHECK:
                code = self.check(order[0])
            elif self.loaded.role == "oracle":
                for number in order:
                    given, state = self.prepare(number)
                    outputs = [self.buffers[number][i] for i in self.loaded.outputs]
                    self.loaded.call_oracle(given, state, outputs)
                if self.loaded.gives_back or self.place.reserved() > MUCH_TEMPORARY:
                    self.loaded.forget_widened()
            else:
                self.call(order, nonce)
            gap = self.place.wait()
        except BaseException as error:
            code = self.explain(error)
        ended = monotonic()
        self.answer(nonce, DEVICE_ERROR if code else OK, code, ended - started, gap)
        return True

    def check(self, number):
        """Returns 0 if the problem's own check accepts the results of a set."""
        given, state = self.prepare(number)
        for target, tensor in state:
            target.data = tensor
        results = self.checked.pop(number)
        try:
            accepted = self.loaded.accepts(given, [results[i] for i in self.loaded.outputs])
        except Exception as error:
            # The check took the reference's result, so it is the results that it cannot take.
            if self.explain(error) == OUT_OF_MEMORY:
                raise
            return REFUSED
        return 0 if accepted else REFUSED

    def call(self, order, nonce):
        module, results = self.loaded.forward, [None] * MOST_SETS
        if self.loaded.copies:
            own, clone = self.tensor_and_clone

            def module(*given):
                return copied(self.loaded.forward(*given), own, clone)

        first, sampled = 0, self.place.sampled(nonce, len(order))
        for call in sorted(call for call in sampled if call < len(order)):
            self._make(module, order, results, first, call + 1)
            self.sample(nonce, sampled[call], results[order[call]])
            first = call + 1
        self._make(module, order, results, first, len(order))
        self._record(order, results)
        self.kept.append(results)

    def _make(self, module, order, results, first, end):
        """Makes the calls [first, end) of a batch. A second call on a set overwrites its record, so
        only its last result is kept."""
        sets = self.prepare, self.prepared, order
        signs = self.place.begin_call, self.begun
        self.make_calls(module, *sets, results, None, *signs, first, end)

    def _record(self, order, results):
        plan = self.calls_plan
        plan.first, plan.end, plan.delta = self.place.results_in()
        self.record_calls(plan, order, results, self.write_ledger)

    def count(self, nonce, number):
        """Measures the device time of one call (evaluator/runner/kernel_work.c)."""
        failures = []

        def call(_):
            try:
                self.kept.append(self.loaded.forward(*given))
            except BaseException as error:
                failures.append(error)

        if self.loaded is None or self.place.kind == "cpu":
            self.answer(nonce, BAD_COMMAND)
            return
        given, state = self.prepare(number)
        for target, tensor in state:
            target.data = tensor
        records = self.place.count(call)
        if failures:
            self.answer(nonce, DEVICE_ERROR, self.explain(failures[0]))
        else:
            self.answer(nonce, OK)
            self.socket.sendall(records)

    def sample(self, nonce, slots, result):
        try:
            tensors = self.loaded.load.flatten(result)
            if len(tensors) == len(self.loaded.outputs):
                self.place.sample(nonce, slots, tensors)
        except (TypeError, RecursionError, RuntimeError):
            pass  # The judge reports results that it cannot read.

    def call_nothing(self, order):
        """Does everything of `call` but the module: the fixed cost of a batch. A GPU works
        meanwhile, so there it is only the part that does not depend on calls."""
        if self.place.kind != "cpu":
            self.place.nothing()
            return
        results = [None] * MOST_SETS
        nothing = self.nothing if self.ledger is not None else None
        sets = self.prepare, self.prepared, order
        self.make_calls(NO_OBJECT, *sets, results, nothing, None, None, 0, len(order))
        if self.ledger is not None:
            self._record(order, results)

    def explain(self, error):
        text = " ".join(str(error).split())[:300]
        complain("%s: %s" % (type(error).__name__, text) if text else type(error).__name__)
        short = isinstance(error, MemoryError) or any(
            words in text for words in OUT_OF_MEMORY_WORDS
        )
        known = getattr(error, "error_code", None)  # a cudaError_t
        if short or isinstance(known, int) and 0 < known < EXCEPTION:
            return OUT_OF_MEMORY if short else known
        return (
            EXCEPTION_OF_OTHERS
            if self.loaded is not None and self.loaded.makes_others
            else EXCEPTION
        )

    def serve(self):
        gc.disable()  # No garbage collection within a batch.
        while True:
            received = self.receive_command()
            if received is None:
                return 0
            command, fd = received
            _, kind, nonce, count, flags = command[:5]
            if kind == BATCH:
                if count > MOST_SETS or not self.run_batch(nonce, count, flags):
                    return 1
            elif kind == PING:
                self.lock()
                if flags & FORGET:
                    self.kept.clear()
                self.answer(nonce, OK)
                self.pinged = monotonic()
            elif kind == LOAD:
                self.answer(nonce, self.load_plan())
            elif kind == SCALARS:
                if count > MOST_ARGUMENTS or not self.take_scalars(count):
                    return 1
                self.answer(nonce, OK)
            elif kind == MAP:
                self.answer(nonce, self.map_buffer(command, fd))
            elif kind == COUNT:
                self.count(nonce, command[5])
            elif kind == UNMAP:
                self.unmap()
                self.answer(nonce, OK)
            elif kind == QUIT:
                return 0
            else:
                self.answer(nonce, BAD_COMMAND)
            if fd >= 0:
                os.close(fd)


def main(arguments):
    on_gpu, compiles = "--cuda" in arguments, "--compile" in arguments
    if len(arguments) != 1 + on_gpu + compiles:
        return 2
    warnings.simplefilter("ignore")
    try:
        import cpu
        import gpu
        import virtual_fs
        import skip_init  # noqa: F401
        import load  # Imported ahead of its use.
        import torch
    except Exception as error:
        complain("PyTorch can't be imported: %s: %s" % (type(error).__name__, error))
        return 3
    try:
        place = gpu.Place(torch) if on_gpu else cpu.Place(torch)
    except Exception as error:
        complain("PyTorch finds no GPU: %s: %s" % (type(error).__name__, error))
        return 3
    virtual_fs.prepare()
    # A task's own baseline through torch.compile starts compilers first (_compile), as its files do
    # in the build jail. Only plans of this kind come here.
    runner = Runner(arguments[-1], torch, place, locks=not compiles)
    runner.answer(0, OK)
    with torch.no_grad():
        return runner.serve()
