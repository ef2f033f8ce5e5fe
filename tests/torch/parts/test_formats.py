"""Tests the translators of evaluator/torch/formats for gpu-mode, kernelbench.com and raw."""

import unittest

import describe
import load
from formats import workloads
from formats import gpu_mode, kernelbench_com, raw_cuda, translate

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
        self.assertIn("names=['x'], buffers=[1]", text)

    def test_refuses_what_it_lacks(self):
        self.says("task.yml", "tests: [")
        self.says("it is no object", "- 1\n")
        self.says("neither tests nor benchmarks", "lang: py\n")
        self.says("no list of objects", "tests: [1]\n")
        self.says("its language is cu", TASK + "lang: cu\n")
        self.says("8 GPUs", TASK.replace("n: 8", "n: 8, world_size: 8"))
        self.says("there is no file", TASK.replace("source: reference", "source: ../other"))
        self.says("it names no reference.py", TASK.replace("name: reference", "name: other"))
        self.says("it does not define ref_kernel", TASK, REFERENCE.replace("ref_kernel", "kernel"))
        self.says("reference.py:1", TASK, "import nothing_of_this_name\n")

    def test_tolerance(self):
        self.assertEqual(
            gpu_mode.tolerance_of("check = make(f, rtol=1e-3, atol=2e-3)"), [1e-3, 2e-3]
        )
        self.assertIsNone(gpu_mode.tolerance_of("check = make(f, rtol=r, atol=a)"))

    def test_text_with_quotes_survives(self):
        for text in ("x = '''a'''\n", "x = 'a\\\\'", "a\r\n", 'r"""b"""'):
            self.assertEqual(eval(gpu_mode.literal(text)), text)


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

    def test_adds_missing_constants(self):
        files = {"reference.py": "M = 4\n", "shapes.py": "SHAPES = [{'M': 2, 'N': 3}]"}
        text = kernelbench_com.translate({"folder": "own", "files": files})["text"]
        self.assertIn("N = 3", text)
        self.assertIn("'patches': {'M': 2, 'N': 3}", text)


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
        ):
            self.assertIn(python, driver(cpp)["text"])

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
