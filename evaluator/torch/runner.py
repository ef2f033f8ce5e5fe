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
import ctypes
import gc
import json
import mmap
import os
import socket
import struct
import sys
import warnings
from time import monotonic  # Bound here, since a solution may patch the module.

import dry_run
import output_directory
import torch_state_guard
from bind_arguments import Loaded

WIRE_FD = 3
MAGIC = 0x31676B66
MOST_SETS, MOST_ARGUMENTS = 1024, 512
# The same for an oracle with so much temporary memory.
MUCH_TEMPORARY = 8 << 30
LOAD, SCALARS, MAP, UNMAP, PING, BATCH, QUIT, COUNT = 1, 2, 3, 4, 5, 6, 7, 8
NULL, READ_ONLY, LEDGER, FORGET, ARENA, STREAM_PAGE = 1, 2, 4, 8, 16, 32
PROGRESS, CHECK, GENERATE = 128, 1024, 2048
OK, LOAD_FAILED, DEVICE_ERROR, MAP_FAILED, BAD_COMMAND = 0, 1, 2, 3, 4
# codes of DEVICE_ERROR
OUT_OF_MEMORY, EXCEPTION, EXCEPTION_OF_OTHERS, REFUSED = 2, 20001, 20002, 20003
OUT_OF_MEMORY_WORDS = ("can't allocate memory", "not enough memory", "CUDA out of memory")
COMMAND = struct.Struct("<IIQIIIIQQQQQQII")
ANSWER = struct.Struct("<IIQiIdd")
SPIN_SECONDS = 0.0003
NO_OBJECT = ctypes.py_object()


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


def load_calls():
    library = ctypes.PyDLL(os.path.join(LIBRARIES, "libkfcalls.so"))
    library.kf_calls_make.argtypes = (
        [ctypes.py_object] * 6 + [ctypes.c_void_p] * 2 + [ctypes.c_uint32] * 2
    )
    plan = ctypes.POINTER(output_directory.CallsPlan)
    library.kf_calls_record.argtypes = [plan] + [ctypes.py_object] * 3
    return library


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


class Runner(output_directory.Writer):
    def __init__(self, path, torch, place, locks):
        self.path, self.torch, self.place = path, torch, place
        self.locks = locks  # The second filter is not installed yet.
        self.socket = socket.socket(fileno=WIRE_FD)
        self.loaded = None
        # (text of its plan, what was loaded), where that went through torch.compile.
        self.compiled = None
        self.buffers = {}  # set -> {argument: tensor}
        self.checked = {}  # the same, of results that the problem's own check gets
        self.rows = {}  # row -> {argument: memory}, for inputs that the problem itself makes
        self.inputs = None, None  # The file of all rows, and its memory.
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
            if flags & GENERATE:
                return self.map_row(number, argument, command[7], length, fd)
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

    def map_row(self, number, argument, offset, length, fd):
        """Keeps the memory of an argument in a row. All rows are in one file, which is mapped once,
        because each mapping takes a descriptor."""
        file = os.fstat(fd)
        if self.inputs[0] != file.st_ino:
            self.inputs = file.st_ino, memoryview(mmap.mmap(fd, file.st_size))
        memory = self.inputs[1][offset : offset + length]
        if len(memory) != length:
            return BAD_COMMAND
        self.rows.setdefault(number, {})[argument] = memory
        return OK

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
        self.rows.clear()
        self.inputs = None, None
        self.prepared.clear()
        self.buffers.clear()
        self.ledger = self.calls_plan = self.calls_memory = None
        if self.loaded:
            self.loaded.drop_state()
        self.place.release()

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
            elif flags & GENERATE:
                import generated

                generated.fill(self.loaded, order[1] | order[2] << 32, self.rows[order[0]])
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
