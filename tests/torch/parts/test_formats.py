"""Tests the translators of evaluator/torch/formats for gpu-mode, kernelbench.com and raw."""

import collections
import copy
import enum
import functools
import sys
import tempfile
import types
import unittest
from unittest import mock

import describe
import load
import meta
import shrink
from formats import workloads
from formats import gpu_mode, gpu_mode_data, kernelbench_com, libtorch, raw_cuda, translate

TASK = "files: [{name: reference.py, source: reference.py}]\nbenchmarks: [{n: 8, seed: 3}]\n"
REFERENCE = """import torch

def generate_input(n, seed):
    return torch.randn(n), torch.empty(n)

def ref_kernel(data):
    x, y = data
    y[...] = x + 1
    return y
"""
DRIVER = """
void launch_gpu_implementation(void* out, void* x, int n);
int main() {
    const int n = 8;
    auto x = torch::randn({n}, torch::dtype(torch::kFloat32));
    %s
    auto out = torch::empty_like(ref);
    launch_gpu_implementation(out.data_ptr(), x.data_ptr(), n);
    bool good = torch::allclose(out, ref, 1e-3, 1e-3);
}
"""


def gpu(task=TASK, reference=REFERENCE, **others):
    files = {"task.yml": task, "reference.py": reference, **others}
    return gpu_mode.translate({"folder": "own", "files": files})


def driver(line, cut=""):
    text = DRIVER % line
    files = {"driver.cpp": text.replace(cut, "") if cut else text, "init.cu": ""}
    return raw_cuda.translate({"folder": "own", "files": files})


class GpuMode(unittest.TestCase):
    def says(self, words, *arguments, **others):
        with self.assertRaises(load.LoadError) as caught:
            gpu(*arguments, **others)
        self.assertIn(words, str(caught.exception))

    def test_buffer_is_no_argument(self):
        text = gpu()["text"]
        self.assertIn("names=['x', 'y'], buffers=['[1]']", text)

    def test_room_has_the_shape_of_a_result(self):
        def rooms(made, returned):
            reference = REFERENCE.replace("torch.empty(n)", made).replace("randn(n)", "ones(n) * seed")
            return gpu(TASK, reference.replace("y[...] = x + 1\n    return y", "return " + returned))["text"]

        for made, returned in (
            ("torch.empty(n)", "x + 1"),
            ("torch.empty(1)", "x.sum()"),
            ("torch.empty(n).half()", "x + 1"),
        ):
            self.assertIn("buffers=['[1]']", rooms(made, returned))
        for made, returned in (
            ("torch.empty(n + 1)", "x + 1"),
            ("torch.empty(n)", "x.sum()"),
            ("torch.ones(n).long()", "x + 1"),
            # All draws but the first of an examination read it.
            ("torch.empty(n)", "x + 1 if x[0] == 1234 else x + y"),
        ):
            self.assertIn("buffers=[]", rooms(made, returned))

    def test_weights_that_few_draws_reach_stay_arguments(self):
        reference = (
            "import torch\n"
            "def generate_input(n, seed):\n"
            "    g = torch.Generator().manual_seed(seed)\n"
            "    w = {'w.%d' % i: torch.randn(8, 8, generator=g) for i in range(32)}\n"
            "    x = torch.randn(WIDTH, 8, generator=g)\n"
            "    return x, torch.randint(32, (WIDTH,), generator=g), w, torch.empty(WIDTH, 8)\n"
            "def ref_kernel(data):\n"
            "    x, to, w, y = data\n"
            "    for i, expert in enumerate(to.tolist()):\n"
            "        y[i] = x[i] @ w['w.%d' % expert]\n"
            "    return y\n"
        )
        for width in ("4", "8"):  # 8: an expert's weights have the result's shape
            text = gpu(TASK, reference.replace("WIDTH", width))["text"]
            self.assertIn("buffers=['[3]']", text)
            text = gpu(
                TASK,
                reference.replace("WIDTH", width).replace("y = data", "y = data\n    y = y.clone()"),
            )["text"]
            self.assertNotIn("w.", text[text.index("buffers=") :])

    def test_names_that_python_reserves(self):
        reference = REFERENCE.replace("x, y = data", "lambda_, self = data")
        reference = reference.replace("x + 1", "lambda_ + 1").replace("y[", "self[")
        made = gpu(TASK, reference.replace("return y", "return self"))
        problem = load.Problem(made["text"], "problem.py")
        self.assertEqual(load.forward_names(problem.construct(), 1), ["lambda_"])
        self.assertEqual(made["definition"]["parts"], ["lambda_", None])
        made = gpu(TASK, REFERENCE.replace("data", "self").replace("x, y = self", "x, y = (self)"))
        load.Problem(made["text"], "problem.py").construct()

    def test_result_of_another_library_names_its_function(self):
        reference = REFERENCE.replace("return y", "return [y, y.numpy()]")
        self.says("reference.py: ref_kernel", TASK, reference)
        self.says("result[1] is a numpy.ndarray", TASK, reference)
        problem = load.Problem(gpu()["text"], "problem.py")
        text = "import torch\ndef custom_kernel(data):\n    return data[0].numpy()\n"
        solution = problem.solution(text, "submission.py", "custom_kernel")()
        with self.assertRaises(load.LoadError) as caught:
            solution(*problem.inputs())
        self.assertIn("submission.py: custom_kernel", str(caught.exception))

    def test_refuses_what_it_lacks(self):
        self.says("task.yml", "tests: [")
        self.says("it is no object", "- 1\n")
        self.says("neither tests nor benchmarks", "lang: py\n")
        self.says("no list of objects", "tests: [1]\n")
        self.says("its language is cu", TASK + "lang: cu\n")
        self.says("8 GPUs", TASK.replace("n: 8", "n: 8, world_size: 8"))
        self.says("there is no file", TASK.replace("source: reference", "source: ../other"))
        self.says("it names no reference.py", TASK.replace("name: reference", "name: other"))
        for name in ("ref_kernel", "generate_input"):
            self.says("it does not define " + name, TASK, REFERENCE.replace(name, "other"))
        self.says("reference.py:1", TASK, "import nothing_of_this_name\n")

    def test_tolerance(self):
        self.assertEqual(
            gpu_mode.tolerance_of("check = make(f, rtol=1e-3, atol=2e-3)"), [1e-3, 2e-3]
        )
        self.assertIsNone(gpu_mode.tolerance_of("check = make(f, rtol=r, atol=a)"))

    def test_own_check(self):
        def noted(*lines):
            made = gpu(TASK, REFERENCE + "\ndef check_implementation(data, output):\n" + "\n".join(
                "    " + line for line in lines
            ))
            return "checks=True" in made["text"], " ".join(made["notes"])

        good = ("x, y = data", "return torch.allclose(output, ref_kernel(data)), ''")
        self.assertEqual(noted(*good)[0], True)
        self.assertIn("accepts are right", noted(*good)[1])
        self.assertEqual(noted("return '' if (output > 1e9).any() else 'small'")[0], False)
        for lines, words in (
            (("return False, 'never'",), "refuses the reference's own result"),
            (("return True, ''",), "it accepts zeros"),
            (("return bool((output != 0).any()), ''",), "the result for other data"),
            (("return 1 / 0",), "ZeroDivisionError"),
        ):
            checks, notes = noted(*lines)
            self.assertFalse(checks)
            self.assertIn(words, notes)

    def test_own_check_draws_once(self):
        import torch

        text = REFERENCE + (
            "\nDRAWN = []\nmake = generate_input\n"
            "def generate_input(n, seed):\n    DRAWN.append(n)\n    return make(n, seed)\n"
            "def check_implementation(data, output):\n"
            "    return not torch.equal(output, ref_kernel(data)), 'other'\n"
        )
        sizes, namespace = {"n": 8}, {"__name__": "problem"}
        gpu_mode.bind(
            namespace, {"reference": text}, lambda: sizes, ["x", "y"], ["[1]"], [], ["[1]"], 64, False, True
        )
        check, drawn = namespace["kforge_check"], sys.modules["reference"].DRAWN
        for _ in range(3):
            check([torch.zeros(8)], [torch.zeros(8)])
        self.assertEqual(len(drawn), 1)
        sizes["n"] = 9
        check([torch.zeros(9)], [torch.zeros(9)])
        self.assertEqual(len(drawn), 2)

    def test_number_of_tensors_follows_the_size(self):
        reference = (
            "import torch\n"
            "def generate_input(n, width, seed):\n"
            "    config = {'n': n, 'mode': 'sum', 'pair': (width, None)}\n"
            "    weights = {'w.%d' % i: torch.randn(width) for i in range(n)}\n"
            "    return torch.randn(width), weights, config\n"
            "def ref_kernel(data):\n"
            "    x, weights, config = data\n"
            "    return sum(x * weights['w.%d' % i] for i in range(config['n'])), {'n': config['n']}\n"
        )
        made = gpu(TASK.replace("n: 8", "n: 2, width: 3000000"), reference)
        self.assertEqual(made["definition"], {"format": "gpu-mode"})
        problem = load.Problem(made["text"], "problem.py", {"n": 5, "width": 4})
        inputs, model = problem.inputs(), problem.construct()
        names = load.forward_names(model, len(inputs))
        expected = ["x", "weights_w_0", "weights_w_1", "weights_w_2", "weights_w_3", "weights_w_4"]
        self.assertEqual(names, expected + ["config_n", "config_pair_0"])
        result, count = model(*inputs)[0], model(*inputs)[1]["n"]
        self.assertTrue(result.allclose(inputs[0] * sum(inputs[1:6])))
        self.assertEqual(int(count), 5)

    def test_large_case_is_examined_at_a_smaller_size(self):
        reference = REFERENCE.replace("y[...]", "assert len(x) < 1 << 20\n    y[...]")
        self.assertIn("buffers=['[1]']", gpu(TASK.replace("n: 8", "n: 4000000"), reference)["text"])
        self.says("smallest case fails: AssertionError", TASK, REFERENCE.replace("y[", "assert 0; y["))

    def test_container_of_results(self):
        for returned, several in (
            ("torch.geqrf(x.view(2, 2))", "'tuple'"),
            ("[x + 1, x]", "'list'"),
            ("x + 1", "None"),
        ):
            reference = REFERENCE.replace("    y[...] = x + 1\n    return y", "    return " + returned)
            self.assertIn("several=%s," % several, gpu(TASK.replace("n: 8", "n: 4"), reference)["text"])

    def test_text_with_quotes_survives(self):
        for text in ("x = '''a'''\n", "x = 'a\\\\'", "a\r\n", 'r"""b"""'):
            self.assertEqual(eval(gpu_mode.literal(text)), text)


class Data(unittest.TestCase):
    """What gpu_mode_data divides, it builds again around other leaves."""

    def divided(self, data, own=()):
        return gpu_mode_data.Divided(data, own)

    def test_containers_are_made_anew(self):
        import torch

        Pair = collections.namedtuple("Pair", "a b")
        shared = torch.ones(3)
        data = (
            Pair(shared, 2),
            [shared, None, torch.Size([4])],
            collections.OrderedDict(k=True, d=torch.float16),
            types.SimpleNamespace(inner={"t": torch.zeros(2)}),
        )
        divided = self.divided(data)
        self.assertEqual(divided.paths, ["[0][0]", "[0][1]", "[1][2][0]", "[2]['k']", "[3].inner['t']"])
        made = divided.drop().build([10, 20, 30, 40, 50])
        self.assertEqual(made[:2], (Pair(10, 20), [10, None, torch.Size([30])]))
        self.assertEqual(made[2], collections.OrderedDict(k=40, d=torch.float16))
        self.assertEqual((type(made[2]), made[3].inner), (collections.OrderedDict, {"t": 50}))
        self.assertEqual(data[2]["k"], True)

    def test_modules_and_objects(self):
        import torch

        class Own:
            __slots__ = ("weight", "parent")

        class Layer(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = torch.nn.Linear(2, 2)
                self.own, self.count = Own(), 3
                self.own.weight, self.own.parent = torch.zeros(1), self

        module = Layer().eval()
        divided = self.divided(module, (Own.__module__,))
        self.assertEqual(divided.paths, [".inner.weight", ".inner.bias", ".own.weight", ".count"])
        self.assertEqual(divided.names(["layer"])[2:], ["layer_own_weight", "layer_count"])
        leaves = [torch.ones(2, 2), torch.ones(2), torch.ones(1), 4]
        made = copy.deepcopy(divided.drop()).build(leaves)
        self.assertIs(type(made.inner.weight), torch.nn.Parameter)
        self.assertTrue(made.inner(torch.ones(2)).equal(torch.full((2,), 3.0)))
        self.assertEqual((made.count, made.training), (4, False))
        self.assertIs(made.own.parent, made)
        self.assertIsNot(made.own, module.own)

    def test_attributes_of_own_modules(self):
        import torch

        class Own(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self._cache, self._width, self._act = torch.zeros(4), 3, torch.relu
                self.register_forward_hook(lambda *_: None)

        module = Own()
        divided = self.divided(module, (Own.__module__,))
        self.assertEqual(divided.paths, ["._cache", "._width"])
        made = divided.build([torch.ones(4), 5])
        self.assertEqual((made._cache.sum(), made._width, made._act), (4, 5, torch.relu))
        self.assertIs(made._forward_hooks, module._forward_hooks)

    def test_plain_tensors_of_other_modules(self):
        import torch

        class Own(torch.nn.LSTM):
            pass

        for module in (torch.nn.LSTM(2, 2), Own(2, 2)):
            module.scale = [torch.ones(2), None]
            divided = self.divided(module, (Own.__module__,) if isinstance(module, Own) else ())
            self.assertEqual(divided.paths[:2], [".weight_ih_l0", ".weight_hh_l0"])
            self.assertIn(".scale[0]", divided.paths)
            zeros = [v * 0 if isinstance(v, torch.Tensor) else v for v in divided.leaves]
            made = divided.build(zeros)
            self.assertEqual(made.scale[0].sum(), 0)
            self.assertEqual(made(torch.ones(1, 2))[0].abs().sum(), 0)

    def test_constants(self):
        import torch

        Color = enum.Enum("Color", "red")
        functions = [torch.relu, torch.nn.functional.gelu, torch.nn.functional.max_pool2d, len]
        functions += [torch.Tensor.add, int.__add__]
        plain = ["sum", b"b", None, 1j, torch.float16, torch.device("cpu"), Color.red, Color]
        plain += [torch.nn.functional, slice(1, 2), range(3), ..., lambda x, n=2: x]
        plain += [torch.contiguous_format, frozenset("ab"), {"mean", ("a", None)}]
        divided = self.divided(plain + functions)
        self.assertEqual(divided.paths, [])
        made = divided.build([])
        self.assertEqual(made, plain + functions)
        self.assertIsNot(made[len(plain) - 1], plain[-1])

    def test_refuses_state_that_calls_would_share(self):
        import torch

        tensor = torch.ones(3)
        for value in (
            {tensor},
            collections.deque([tensor]),
            functools.partial(torch.add, tensor),
            lambda x: x + tensor,
            lambda x, y=tensor: x + y,
            tensor.add,
            mock.Mock(parts=[tensor]),
            torch.Generator(),
            iter([tensor]),
        ):
            for data in (value, [{"part": value}]):
                with self.assertRaises(load.LoadError) as caught:
                    self.divided(data)
                self.assertIn("kforge can't divide into tensors", str(caught.exception))
        self.assertIn("data[0]['part'] is a ", str(caught.exception))
        with self.assertRaises(load.LoadError):
            self.divided({tensor: 1})

    def test_refuses_what_would_stay_the_same(self):
        import torch

        with self.assertRaises(load.LoadError) as caught:
            self.divided([torch.distributions.Normal(torch.zeros(2), torch.ones(2))])
        self.assertIn("data[0] is a torch.distributions.normal.Normal", str(caught.exception))
        self.assertIn("reference.py: generate_input", str(caught.exception))


class Storageless(unittest.TestCase):
    def test_drawn_and_moved_tensors_stay_that(self):
        import torch

        size = torch.Size([1 << 20, 1 << 20])
        before = torch.distributions.Cauchy.rsample
        with meta.Storageless():
            drawn = torch.distributions.Cauchy(0, 2).sample(size).to("cpu", torch.float16)
            kinds = torch.distributions.Categorical(torch.tensor([1.0, 3.0])).sample(size).cpu()
            moved = torch.nn.Linear(1 << 20, 1 << 20).to("cpu").weight
        for tensor, dtype in ((drawn, torch.float16), (kinds, torch.int64), (moved, torch.float32)):
            self.assertEqual((tensor.device.type, tensor.shape, tensor.dtype), ("meta", size, dtype))
        self.assertIs(torch.distributions.Cauchy.rsample, before)


class KernelbenchCom(unittest.TestCase):
    def test_refuses_shapes(self):
        for text, words in (
            ("OTHER = 1", "does not define SHAPES"),
            ("SHAPES = []", "no list with entries"),
            ("SHAPES = [3]", "it is no dict"),
            ("SHAPES = [{'M': 'x'}]", "M is 'x'"),
            ("SHAPES = [{'M': 1}, {'N': 1}]", "SHAPES[1]"),
            ("SHAPES = 1 / 0", "ZeroDivisionError"),
        ):
            with self.assertRaises(load.LoadError) as caught:
                kernelbench_com.shapes_of(text)
            self.assertIn(words, str(caught.exception))

    def test_forbidden(self):
        def made(meta):
            files = {"reference.py": "N = 4\n", "shapes.py": "SHAPES = [{'N': 4}]"}
            files["problem.yaml"] = meta
            return kernelbench_com.translate({"folder": "f", "files": files})["forbidden"]

        self.assertEqual(made("forbidden: [torch.topk, '.sort(']"), ["torch.topk", ".sort("])
        self.assertEqual(made("name: f"), [])
        with self.assertRaisesRegex(load.LoadError, "forbidden is no list of strings"):
            made("forbidden: torch.topk")

    def test_adds_missing_constants(self):
        reference = "M = 4\ndef size(): return M * N\n"
        files = {"reference.py": reference, "shapes.py": "SHAPES = [{'M': 2, 'N': 3}]"}
        text = kernelbench_com.translate({"folder": "own", "files": files})["text"]
        self.assertIn("N = 3", text)
        self.assertIn("'patches': {'M': 2, 'N': 3}", text)

    def test_shape_names_constants_in_another_case(self):
        files = {
            "reference.py": "SEQ_LEN = 8\nN = 2\nn = 3\n",
            "shapes.py": "SHAPES = [{'seq_len': 16, 'n': 5}]",
        }
        text = kernelbench_com.translate({"folder": "own", "files": files})["text"]
        self.assertIn("'patches': {'SEQ_LEN': 16, 'n': 5}", text)
        self.assertNotIn("seq_len", text)
        # X is no other name of x.
        files["reference.py"] = "x = 1\ndef size(): return M\nM = 2\n"
        files["shapes.py"] = "SHAPES = [{'M': 3, 'X': 5}]"
        text = kernelbench_com.translate({"folder": "own", "files": files})["text"]
        self.assertIn("'patches': {'M': 3}}", text)

    def test_keys_that_the_reference_does_not_use(self):
        files = {
            "reference.py": "M = 4\n",
            "shapes.py": "SHAPES = [{'M': 2, 'seed': 3}, {'M': 5, 'seed': 4}]",
        }
        made = kernelbench_com.translate({"folder": "own", "files": files})
        self.assertIn("'patches': {'M': 2}}", made["text"])
        self.assertIn("'patches': {'M': 5}}", made["text"])
        self.assertNotIn("seed", made["text"])
        self.assertIn("shapes.py: seed is no constant of reference.py", made["notes"][0])
        files["shapes.py"] = "SHAPES = [{'seed': 3}]"
        with self.assertRaises(load.LoadError) as caught:
            kernelbench_com.translate({"folder": "own", "files": files})
        self.assertIn("SHAPES[0]: seed is no constant of reference.py", str(caught.exception))

    def test_problem_without_inputs_is_a_call_of_run(self):
        reference = "n = 1\ndef steps(): pass\ndef run(n, count, seed, model=None): steps_\n"
        reference += "def get_inputs():\n    return []\n"
        files = {"reference.py": reference, "shapes.py": "SHAPES = [{'n': 2, 'steps': 3}]"}
        made = kernelbench_com.translate({"folder": "own", "files": files})
        self.assertIn("lambda: [n, steps_]", made["text"])
        self.assertIn("'patches': {'n': 2, 'steps_': 3}", made["text"])
        self.assertIn("all of it is timed", made["notes"][0])
        for other in (("seed", "start"), ("model=None", "net=None"), ("return []", "return [1]")):
            files["reference.py"] = reference.replace(*other)
            made = kernelbench_com.translate({"folder": "own", "files": files})
            self.assertNotIn("bind_run", made["text"])

    def test_missing_package_has_a_remedy(self):
        with self.assertRaises(load.LoadError) as caught:
            load.execute("import nothing_of_this_name", "own.py", "own")
        self.assertIn("nothing_of_this_name", str(caught.exception))
        self.assertIn("KFORGE_PYTHON", str(caught.exception))


class Slow(unittest.TestCase):
    """A module without shape rules, with calls that take too long at its own size."""

    TEXT = """
import torch
rows, steps = 64, 1 << 40
class Model(torch.nn.Module):
    def forward(self, x):
        for _ in range(steps):
            x = x + float(x[0, 0])
        return x.sum(1)
def get_inputs():
    return [torch.randn(rows, 3)]
KFORGE_WORKLOADS = [{"name": "long", "patches": {"steps": 1 << 41}}]
"""

    def test_shapes_follow_from_smaller_sizes(self):
        options = types.SimpleNamespace(class_name="Model", mode="train", max_elements=0)
        with tempfile.TemporaryDirectory() as folder:
            path = folder + "/own.py"
            with open(path, "w", encoding="utf-8") as file:
                file.write(self.TEXT)
            with mock.patch.object(workloads, "REAL_SECONDS", 0.05), mock.patch.object(
                shrink, "REAL_SECONDS", 0.05
            ):
                patches, size, why = workloads.sized(path, {"steps": 1 << 41}, options, False)
            self.assertEqual((why, list(size.outputs[0].shape)), ("", [64]))
            self.assertEqual(patches, {"steps": 1 << 41})


class Loop(unittest.TestCase):
    """A recurrence over a long axis: without storage each call takes as many operations."""

    TEXT = """
import torch
rows, steps = 8, 4096
class Model(torch.nn.Module):
    def forward(self, x):
        h = torch.zeros_like(x[:, 0])
        for step in range(x.shape[1]):
            h = torch.tanh(h + x[:, step])
        return h
def get_inputs():
    return [torch.randn(rows, steps, 2048)]
"""

    def test_keeps_a_constant_that_only_a_real_call_needs(self):
        text = (
            "import torch\nrows, columns, stride = 32, 32, 64\n"
            "class Model(torch.nn.Module):\n    def forward(self, x):\n"
            "        if x.device.type != 'meta' and stride < 64:\n"
            "            raise RuntimeError('padding must be smaller than the stride')\n"
            "        return x + 1\n"
            "def get_inputs():\n    return [torch.randn(rows, columns, stride)]\n"
        )
        options = types.SimpleNamespace(class_name="Model", mode="train", max_elements=0)
        with tempfile.TemporaryDirectory() as folder:
            path = folder + "/problem.py"
            with open(path, "w") as file:
                file.write(text)
            found = shrink.shrink(path, {}, options, 1000, 1 << 28)
        self.assertNotIn("stride", found.patches)
        self.assertLessEqual(found.elements, 1000)

    def test_shrinks_in_large_steps(self):
        options = types.SimpleNamespace(class_name="Model", mode="train", max_elements=1 << 20)
        with tempfile.TemporaryDirectory() as folder:
            path = folder + "/own.py"
            with open(path, "w", encoding="utf-8") as file:
                file.write(self.TEXT)
            with mock.patch.object(shrink, "_size", wraps=shrink._size) as sizes:
                found = shrink.shrink(path, {}, options, 1 << 20, 1 << 28)
            self.assertLessEqual(found.elements, 1 << 20)
            self.assertEqual(found.patches, {"steps": 32})
            self.assertLessEqual(sizes.call_count, 6)
            problem = load.Problem.read(path, {"steps": 64})
            with mock.patch.object(meta, "MOST_OPERATIONS", 100):
                size = meta.size(problem, options)
            self.assertEqual((size.outputs, size.slow), (None, True))


class Shares(unittest.TestCase):
    """The largest constant matters little until the others are halved."""

    TEXT = """
import torch
WIDTH, ROWS = 4096, 2048
class Model(torch.nn.Module):
    def forward(self, x, y):
        return x.sum() + y.sum()
def get_inputs():
    return [torch.randn(WIDTH), torch.randn(ROWS, ROWS)]
"""

    def test_are_looked_at_again(self):
        options = types.SimpleNamespace(class_name="Model", mode="train", max_elements=1000)
        with tempfile.TemporaryDirectory() as folder:
            path = folder + "/own.py"
            with open(path, "w", encoding="utf-8") as file:
                file.write(self.TEXT)
            found = shrink.shrink(path, {}, options, 1000, 1 << 28)
        self.assertLessEqual(found.elements, 1000)


class Additions(unittest.TestCase):
    """Some operations over a large axis: only elements are too many."""

    TEXT = """
import torch
N, ITERS = 48, 64
class Model(torch.nn.Module):
    def forward(self, x):
        for _ in range(ITERS):
            x = x + 1
        return x
def get_inputs():
    return [torch.randn(4096, N)]
"""

    def test_operations_count_in_slow_calls_only(self):
        options = types.SimpleNamespace(class_name="Model", mode="train", max_elements=1 << 16)
        with tempfile.TemporaryDirectory() as folder:
            path = folder + "/own.py"
            with open(path, "w", encoding="utf-8") as file:
                file.write(self.TEXT)
            found = shrink.shrink(path, {}, options, 1 << 16, 1 << 28)
        self.assertEqual((found.patches, found.elements), ({"N": 6}, 2 * 4096 * 6))


class Raw(unittest.TestCase):
    def test_statements(self):
        for cpp, python in (
            ("auto ref = torch::relu(x) + 0.5f;", "ref = torch.relu(x) + 0.5"),
            (
                "auto ref = std::get<0>(torch::max(x, 0, true));",
                "ref = std_get(0, torch.max(x, 0, True))",
            ),
            ("torch::Tensor ref; if (n > 4) { ref = x * 2; } else { ref = x; }", "ref = x * 2"),
            ("auto ref = torch::nn::functional::gelu(x);", "ref = F.gelu(x)"),
            ("auto in = x; auto ref = in.pow(2);", "ref = in_.pow(2)"),
            ('auto ref = torch::einsum("i->i", {x});', 'ref = torch.einsum("i->i", [x])'),
            ("at::Tensor ref = x + 1;", "ref = x + 1"),
            ("auto ref = x * M_PI;", "ref = x * math.pi"),
            ("auto ref = x.index({Slice(), 0});", "ref = index(x, [slice(None), 0])"),
            ("auto ref = x.defined() ? x : x + 1;", "(x) if ((x is not None)) else"),
            (
                "torch::nn::Linear l(n, n); l->weight = torch::zeros({n, n}); "
                "auto ref = l->forward(x);",
                "        set_data(l.weight, torch.zeros([n, n]))",
            ),
            ("try { auto ref = x + 1; } catch (...) { return 1; }", "ref = x + 1"),
            (
                "auto up = torch::triu(torch::randn({n, n})); auto ref = up * x;",
                "    return [x, up]",
            ),
            (
                "auto o = torch::nn::Conv1dOptions(n, n, 1); o.bias(false); "
                "torch::nn::Conv1d conv(o); auto ref = conv->forward(x);",
                "\no = o.bias(False)\n",
            ),
        ):
            self.assertIn(python, driver(cpp)["text"])

    def test_values_of_weights_are_made_in_the_constructor(self):
        text = driver(
            "torch::nn::BatchNorm1d bn(n); auto w = bn->weight.clone(); bn->weight.set_data(w); "
            "auto ref = bn->forward(x);"
        )["text"]
        self.assertIn("        w = bn.weight.clone()\n        set_data(bn.weight, w)", text)
        self.assertNotIn("w = ", text[text.index("def forward") :])

    def test_inputs_that_get_their_numbers_later(self):
        text = driver(
            "auto w = torch::empty({n}); auto b = torch::empty({n}); float bound = 1.0f / std::sqrt(n);"
            "torch::nn::init::kaiming_uniform_(\n w, 2.0, torch::kFanIn, torch::kLeakyReLU); "
            "b.uniform_(-bound, bound); auto ref = x * w + b;"
        )["text"]
        forward, drawn = text[text.index("def forward") :].split("def get_inputs")
        self.assertNotIn("uniform", forward)
        self.assertIn("nn.init.kaiming_uniform_( w, 2.0, torch.kFanIn, torch.kLeakyReLU)", drawn)
        self.assertLess(drawn.index("bound ="), drawn.index("b.uniform_(-bound, bound)"))
        self.assertEqual((libtorch.torch.kFanIn, libtorch.torch.kLeakyReLU), ("fan_in", "leaky_relu"))

    def test_reference_that_is_computed_after_the_call(self):
        after = "bool good = torch::allclose(out, ref, 1e-3, 1e-3);"
        for line, expected in (
            ("auto ref = x * 2; ref = ref + 1;", "2 * x + 1"),
            ("auto ref = x.clone(); ref.mul_(3);", "3 * x"),
            ("auto r = x + 2; auto ref = r.cpu().contiguous();", "x + 2"),
        ):
            text = (DRIVER % "").replace("empty_like(ref)", "empty_like(x)").replace(after, line + after)
            made = raw_cuda.translate({"folder": "own", "files": {"driver.cpp": text, "init.cu": ""}})
            problem = load.Problem(made["text"], "own.py")
            x = libtorch.python_torch.arange(8.0)
            self.assertTrue(problem.construct()(x.clone()).equal(eval(expected, {"x": x})), line)

    def test_reference_that_is_computed_in_place(self):
        text = DRIVER % "auto g = torch::randn({n}); auto ref = x;"
        text = text.replace("(x.data_ptr(),", "(x.data_ptr(), g.data_ptr(),")
        text = text.replace("x.data_ptr(), n)", "g.data_ptr(), n)")
        for step, after in (("x.sub_(0.1f * g)", True), ("x.fill_(3)", True), ("x.add_(g)", False)):
            line = "    launch_gpu_implementation(out"
            place = ("    bool good", 1) if after else (line, 1)
            given = text.replace(place[0], "    %s;\n%s" % (step, place[0]), 1)
            given = given.replace("allclose(out, ref", "allclose(out, x")
            files = {"driver.cpp": given, "init.cu": ""}
            made = raw_cuda.translate({"folder": "own", "files": files})["text"]
            forward = made[made.index("def forward") :].split("def get_inputs")[0]
            self.assertIn(step.replace("0.1f", "0.1"), forward)

    def test_module_that_evaluates(self):
        text = driver("torch::nn::BatchNorm1d bn(n); bn->eval(); auto ref = bn->forward(x);")["text"]
        self.assertIn("        bn.eval()\n", text[: text.index("def forward")])

    def test_pointer_without_a_tensor(self):
        text = DRIVER % "auto ref = x; void* none = nullptr;"
        text = text.replace("x.data_ptr(), n)", "x.data_ptr(), none, n)")
        made = raw_cuda.translate({"folder": "own", "files": {"driver.cpp": text, "init.cu": ""}})
        row = {"name": "x", "dtype": "f32"}
        files, note = made["finish"](
            {"inputs": [row], "state": [], "outputs": [dict(row, name="out")], "patches": {}}
        )
        self.assertEqual(note, "")
        self.assertIn("(out, (void *)x, nullptr, 8);", files["init.cu"])

    def test_comparison_of_its_own(self):
        self.assertIn("return ref", driver("auto ref = x;", " 1e-3, 1e-3")["text"])
        files = {"driver.cpp": DRIVER % "auto ref = x;", "init.cu": ""}
        files["driver.cpp"] = files["driver.cpp"].replace("torch::allclose", "allclose_fp16")
        self.assertIn("return ref", raw_cuda.translate({"folder": "o", "files": files})["text"])

    def test_functions_and_structs_without_base(self):
        before = "torch::Tensor half(torch::Tensor x) { return x / 2; }\n"
        before += "struct Own { float by = 3.0f; torch::Tensor forward(torch::Tensor x) "
        before += "{ return x * by; } };\n"
        text = before + DRIVER % "Own own; auto ref = half(own.forward(x));"
        files = {"driver.cpp": text, "init.cu": ""}
        made = raw_cuda.translate({"folder": "own", "files": files})["text"]
        for line in ("def half(x):", "    return div(x, 2)", "self.by = 3.0", "return x * self.by"):
            self.assertIn(line, made)
        self.assertIn("ref = half(own(x))", made)

    def test_parameter_that_is_assigned_where_it_is_registered(self):
        before = "struct Own : torch::nn::Module { torch::Tensor by; torch::Tensor add; Own() { "
        before += 'register_parameter("by", by = torch::randn({8})); '
        before += 'register_buffer("add", add = torch::randn({8})); } '
        before += "torch::Tensor forward(torch::Tensor x) { return x * by + add; } };\n"
        files = {"driver.cpp": before + DRIVER % "Own own; auto ref = own.forward(x);"}
        made = raw_cuda.translate({"folder": "own", "files": {**files, "init.cu": ""}})["text"]
        self.assertIn("self.by = python_nn.Parameter(torch.randn([8]))", made)
        self.assertIn('self.register_buffer("add", torch.randn([8]))', made)
        self.assertIn("return x * self.by + self.add", made)

    def test_methods_that_a_processor_lacks_in_half_precision(self):
        torch = libtorch.python_torch
        self.addCleanup(libtorch.WIDENED.clear)

        class Own:
            @libtorch.on_processor
            def forward(self, x):
                y = x.clone()
                y.clamp_(-1, 1)
                y += 1
                mean = (x * 20).mean(), torch.nn.functional.mse_loss(x * 20, x)
                return torch.norm(x), (x * x).sqrt(), y, mean

        x = torch.full((8192,), 2.0).half()
        with mock.patch.object(libtorch, "lacks_half", lambda: True):
            norm, root, changed, means = Own().forward(x)
        self.assertEqual([m.item() for m in means], [40, 38 * 38])
        self.assertAlmostEqual(norm.item(), 181, delta=0.1)
        for result in (root, changed):
            self.assertTrue(torch.equal(result, x))
        self.assertEqual({norm.dtype, root.dtype, changed.dtype}, {torch.float16})
        self.assertEqual(x[0].item(), 2)
        wide = Own().forward(x.double())  # the oracle
        self.assertEqual({each.dtype for each in wide[:3]}, {torch.float64})

    def test_operations_in_place_that_a_processor_lacks(self):
        torch = libtorch.python_torch

        self.addCleanup(libtorch.WIDENED.clear)

        def add_(x, y, out=None):
            if x.dtype is torch.float16:
                raise RuntimeError("\"own\" not implemented for 'Half'")
            return x.add_(y)

        x = torch.ones(2).half()
        self.assertIs(libtorch.rounded(add_, [x, 1], {}), x)
        self.assertEqual(x.tolist(), [2, 2])
        with self.assertRaises(RuntimeError):
            libtorch.rounded(add_, [x, 1], {"out": x})
        y, running = torch.ones(2).half(), torch.zeros(2).half()

        def norm(x, running, out=None):
            if x.dtype is torch.float16:
                raise RuntimeError("\"own\" not implemented for 'Half'")
            running.add_(1)
            return x + 1

        made = libtorch.rounded(norm, [y], {"running": running, "out": None})
        self.assertEqual((made.tolist(), made.dtype), ([2, 2], torch.float16))
        self.assertEqual((y.tolist(), running.tolist()), ([1, 1], [1, 1]))

    def test_half_precision_that_a_processor_lacks(self):
        torch = libtorch.python_torch
        self.addCleanup(libtorch.WIDENED.clear)

        def lacking(x):
            if x.dtype == torch.float16:
                raise NotImplementedError("\"own\" not implemented for 'Half'")
            return x + 1

        made = libtorch.rounded(lacking, [torch.ones(2).half()], {})
        self.assertEqual((made.dtype, made.tolist()), (torch.float16, [2, 2]))
        self.assertIn("lacking", libtorch.WIDENED)
        pool = libtorch.nn.AvgPool3d(2)
        libtorch.to(pool, torch.float16)
        self.assertEqual(pool(torch.ones(1, 1, 2, 2, 2).half()).item(), 1)
        with self.assertRaises(TypeError):
            libtorch.rounded(lacking, [], {})
        self.assertIsNone(libtorch.torch.Tensor())
        self.assertEqual(libtorch.index(torch.arange(4).view(2, 2), ["...", 1]).tolist(), [1, 3])

    def test_refuses(self):
        for line, cut, words in (
            ("auto ref = x;", "int main()", "no main()"),
            (
                "auto ref = x;",
                "launch_gpu_implementation(out.data_ptr(), x.data_ptr(), n);",
                "calls no function",
            ),
            (
                "auto ref = x;",
                "bool good = torch::allclose(out, ref, 1e-3, 1e-3);",
                "compares nothing",
            ),
            ("auto ref = x; for (int i = 0; i < n; i++) { ref[i] = x[i] * 2; }", "", "driver.cpp:6"),
            ("auto ref = x; for (int i = 0; i < n; i++) { ref[i] += 1; }", "", "driver.cpp:6"),
            ("auto ref = x; for (int i = 0; i < n; i++) { ref.select(0, i).mul_(2); }", "", "driver.cpp:6"),
            ("auto ref = x; for (int i = 0; i < n; i++) { fill(ref, i); }", "", "driver.cpp:6"),
            ("auto ref = x; for (int i = 0; i < n; i++) { auto row = ref[i]; row.mul_(2); }", "", "driver.cpp:6"),
            ("auto ref = x; for (int i = 0; i < n; i++) { ref = ref + 1; }", "", "driver.cpp:6"),
            ("auto ref = [&](int a) { return x; }(1);", "", "not understood"),
        ):
            with self.assertRaises(load.LoadError) as caught:
                driver(line, cut)
            self.assertIn(words, str(caught.exception))


SOLVE = """
__global__ void kernel(const float *x, float *y, int n) {}
extern "C" void solve(const float *x, float *y, int n) { kernel<<<1, 1>>>(x, y, n); }
static void on_processor(const float *in, float *out, int count)
{
    for (int i = 0; i < count; i++) %s
}
"""


def solve(line, text=SOLVE):
    return raw_cuda.translate(
        {"folder": "own", "files": {"own.cu": text % line if "%s" in text else text}}
    )


class Solve(unittest.TestCase):
    def shapes(self, line):
        return [a.get("shape") for a in solve(line)["task"]["arguments"]]

    def test_roles_and_extents(self):
        self.assertEqual(self.shapes("out[i] = 2.0f * in[i];"), [["n"], ["n"], None])
        self.assertEqual(self.shapes("out[0] += in[i];")[1], [1])
        task = solve("out[i] = out[i] + in[i];")["task"]
        self.assertEqual([a["kind"] for a in task["arguments"]], ["input", "inout", "scalar"])
        self.assertEqual(solve("out[i] = in[i];")["task"]["arguments"][1]["kind"], "output")

    def test_extent_in_a_comment(self):
        text = SOLVE.replace("__global__", "// x: n * n\n__global__")
        self.assertEqual(
            solve("out[i] = in[other(i)];", text)["task"]["arguments"][0]["shape"], ["n * n"]
        )

    def test_oracle_is_wide(self):
        oracle = solve("out[i] = expf(in[i]) + 0.5f;")["files"]["oracle.cu"]
        self.assertIn("exp(in[i]) + 0.5;", oracle)
        self.assertIn("double *out", oracle)

    def test_refuses(self):
        for line, text, words in (
            (
                "",
                SOLVE.replace("int count", "long count"),
                "void solve_cpu(const float *x, float *y, int n)",
            ),
            ("out[i] = in[other(i)];", SOLVE, "// x: n"),
            ("", SOLVE.replace("float", "quad"), "the type of"),
            ("", "void other() {}", "it has no function solve"),
        ):
            with self.assertRaises(load.LoadError) as caught:
                solve(line, text)
            self.assertIn(words, str(caught.exception))


class Workloads(unittest.TestCase):
    def test_says_why_a_workload_is_left_out(self):
        torch = libtorch.python_torch
        x, mask = torch.ones(2, 3), torch.ones(2)

        def workload(name, case, *inputs):
            size = meta.Size(list(inputs), {}, [x])
            return workloads.Workload(name, True, {"n": 2, "case": case}, size)

        base = workload("b3", 2, x, mask.long())
        names = ["x", "mask"], []
        other = workload("b4", 2, torch.ones(4, 3), torch.ones(4).long())
        self.assertEqual(workloads.difference(other, base, *names), "")
        left = [workload("b1", 0, x, mask), workload("b2", 1, x, mask)]
        self.assertEqual(
            workloads.note_of_others(left, base, *names),
            "left out: b1, b2 (input mask is float32 with 1 axes there, int64 with 1 axes in b3); "
            "--patch case=0 and another --output make a task with those of b1",
        )
        shorter = workload("b5", 2, x)
        self.assertIn("input mask is absent there", workloads.difference(shorter, base, *names))

    def test_equal_rows_share_a_param(self):
        params = workloads.Params(3)
        self.assertEqual(params.name("n", [1, 2, 3], describe.c_name), "n")
        self.assertEqual(params.name("other", [1, 2, 3], describe.c_name), "n")
        self.assertEqual(params.name("n", [1, 2, 4], describe.c_name), "n_2")

    def test_formula(self):
        params = workloads.Params(3)
        self.assertEqual(workloads.formula(params, "n", [4, 4, 4], describe.c_name), 4)
        self.assertEqual(workloads.formula(params, "n", [4, 5, 4], describe.c_name), "n")
        self.assertEqual(
            workloads.formula(params, "p", [0.5, 0.25, 1], describe.c_name),
            "workload == 0 ? 0.5 : workload == 1 ? 0.25 : 1",
        )
        self.assertEqual(params.rows["workload"], (0, 1, 2))


class Translate(unittest.TestCase):
    def test_formats_exist(self):
        for name in translate.FORMATS.values():
            self.assertTrue(callable(__import__(name, fromlist=["translate"]).translate))


if __name__ == "__main__":
    unittest.main()
