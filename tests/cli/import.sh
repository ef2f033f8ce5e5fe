#!/bin/bash
# import: good and bad problems of our own in KernelBench's layout, the definition of a suite, and
# existing folders.
source "$(dirname "$0")/lib.sh"

# Without PyTorch: a folder that is no suite gets its usual error. Other imports report that PyTorch
# is missing.
mkdir empty
expect 2 import kernelbench empty
complains "not a checkout of KernelBench: it has no folders level1/"
expect 2 import kernelbench "$work/none"
complains "No such file"
expect 2 import robust-kbench empty
complains "not a checkout or a task of robust-kbench"
expect 2 import torch empty
complains "no Python files"
expect 2 import kernelbench empty --level 1..
complains "--level 1..: expected numbers and ranges"
expect 2 import kernelbench "$root/tests/kernelbench" --ids 4711
complains "no problem has one of these levels and ids"
mkdir -p elsewhere/robust_kbench
expect 2 import kernelbench elsewhere
complains "kforge import robust-kbench"
if ! /usr/bin/python3 -I -c 'import torch' 2>/dev/null && ! python3 -I -c 'import torch' 2>/dev/null; then
    expect 3 import kernelbench "$root/tests/kernelbench" -o made
    complains "PyTorch"
    echo "skipped: no PyTorch (Debian: python3-torch)" >&2
    finish
    exit 0
fi
export KFORGE_PYTHON=$work/nowhere/python3
expect 3 import kernelbench "$root/tests/kernelbench" -o made
complains "Python is missing"
[ -e made ] && fail "something was made without a Python"
unset KFORGE_PYTHON

# A suite: made, and the second time unchanged.
expect 0 import kernelbench "$root/tests/kernelbench" --ids 2 --scale 20000 -o made --json
json '[(p["status"], p["problem"]) for p in o["problems"]] == [("made", 2)]'
json 'all(0 < p["elements"] <= 20000 for p in o["problems"]) and o["problems"][0]["patches"]'
(cd made && md5sum */*) >before
expect 0 import kernelbench "$root/tests/kernelbench" --ids 2 --scale 20000 -o made --json
json '[p["status"] for p in o["problems"]] == ["unchanged"]'
(cd made && md5sum */*) | cmp - before || fail "a task that was there changed"
ls -A made | grep -q '^\.' && fail "something temporary is left: $(ls -A made)"

# If PyTorch may use tf32 on a GPU, the task and its description allow it. A matrix product may not
# use it.
expect 0 import torch "$root/tests/kernelbench/level1/7_Conv2d_Bias_Scale.py" -o tf32 --unchecked
expect 0 task show tf32/7_Conv2d_Bias_Scale --json
json 'o["task"]["torch"]["tf32"] is True and "to tf32" in o["task"]["description"]'
expect 0 import torch "$root/tests/kernelbench/level1/3_Linear.py" -o tf32 --unchecked
expect 0 task show tf32/3_Linear --json
json '"tf32" not in o["task"]["torch"] and "tf32" not in o["task"]["description"]'

# A file name that no C function can have gets an entry of its own.
for name in exp cuda_scale class 2d-conv; do
    cp "$root/tests/kernelbench/level1/2_ReLU.py" "$name.py"
    expect 0 import torch "$name.py" --patch columns=96 -o "named_$name" --unchecked
    entry=$(sed -n 's/.*"entry":[[:space:]]*"\(.*\)".*/\1/p' "named_$name"/*/task.json)
    [ "$entry" = "task_${name//-/_}" ] || fail "the entry of $name: $entry"
done

# If the mode matters, the task and its description name it.
expect 0 task show made/level1_2_ReLU --json
json '"mode_matters" not in o["task"]["torch"] and " mode (" not in o["task"]["description"]'
for mode in train eval; do
    expect 0 import torch "$root/tests/kernelbench/level1/4_BatchNorm.py" --mode $mode -o $mode --unchecked
    expect 0 task show $mode/4_BatchNorm --json
    json 'o["task"]["torch"]["mode"] == "'$mode'" and o["task"]["torch"]["mode_matters"] is True'
    json '"The module is in %s mode (batch norms take" % {"train": "training", "eval": "evaluation"}["'$mode'"] in o["task"]["description"]'
done

# Other options: not without --force, and by a link.
expect 1 import kernelbench "$root/tests/kernelbench" --ids 2 --scale 10000 -o made --unchecked
says "exists and differs; --force replaces it"
expect 0 import kernelbench "$root/tests/kernelbench" --ids 2 --scale 10000 -o made --force --link --unchecked
[ -e made/level1_2_ReLU/problem.py ] && fail "--link copied the file"
expect 0 task show made/level1_2_ReLU
says "max(x, 0)"

# One file, a constant given, another place. The copy is another checkout with an origin.
mkdir -p checkout/level1/.git checkout/.git && cp "$root/tests/kernelbench/level1/2_ReLU.py" checkout/level1
rmdir checkout/level1/.git
printf 'ref: refs/heads/main\n' >checkout/.git/HEAD
printf '[core]\n\tbare = false\n[remote "origin"]\n\turl = https://user:secret@example.org/suite.git\n' >checkout/.git/config
printf '# pack-refs with: peeled\n0123456789abcdef0123456789abcdef01234567 refs/heads/main\n' >checkout/.git/packed-refs
expect 0 import torch checkout/level1/2_ReLU.py --patch columns=96 -o mine --unchecked
expect 0 task show mine/2_ReLU --json
json 'o["task"]["arguments"][0]["shape"][1] == 96 and o["task"]["torch"]["patches"] == {"columns": 96}'
json 'o["task"]["origin"]["commit"].startswith("0123") and o["task"]["origin"]["url"] == "https://example.org/suite.git"'
# An untracked folder inside another project's repository has no commit.
if git init -q other 2>/dev/null; then
    mkdir -p other/own other/ownership other/copied && cp checkout/level1/2_ReLU.py other/own && cp checkout/level1/2_ReLU.py other/copied
    cp checkout/level1/2_ReLU.py other/ownership/with_a_longer_name.py
    git -C other add own ownership
    git -C other -c user.name=n -c user.email=e@example.org commit -qm first
    head=$(git -C other rev-parse HEAD)
    expect 0 import torch other/own/2_ReLU.py -o tracked --json --unchecked
    grep -q "$head" tracked/*/task.json || fail "the commit is missing of a file that is one of its repository"
    expect 0 import torch other/copied/2_ReLU.py -o untracked --json --unchecked
    ! grep -q "$head" untracked/*/task.json || fail "a copied file has the commit of the repository around it"
fi
expect 1 import torch checkout/level1/2_ReLU.py --patch widths=96 -o mine --unchecked
says 'no module-level constant "widths"'
expect 2 import torch checkout/level1/2_ReLU.py --patch columns -o mine
complains "expected NAME=NUMBER"

# Bad problems: each named in its row, and the rest goes on.
bad=$root/tests/kernelbench/bad
expect 1 import kernelbench "$bad" --ids 2 --timeout 4 -o made --unchecked
says "takes longer than 4 s"
expect 0 import kernelbench "$bad" --ids 1,3..20,"$(seq -s , 100 299)" -o made --json --unchecked # each by its number, as scripts do
row() { # ID STATUS TEXT
    json "any(p['problem'] == $1 and p['status'] == '$2' and '$3' in p['rule'] + ': ' + p['reason'] for p in o['problems'])"
}
row 1 failed "1_Syntax_Error.py:5: SyntaxError"
row 3 made ""
row 4 made ""
row 5 unfit "forward: the output is the input x itself; return"
row 6 unfit "outputs.constant"
row 7 unfit "outputs.zero"
row 8 unfit "forward: input y"
row 9 failed "it does not define class Model"
row 10 unfit "size.large"
row 11 unfit ".py:7: RuntimeError"
row 11 unfit ", $(torch_python)"
row 12 failed "No module named"
row 13 failed "without an answer"
row 14 unfit "outputs.random"
row 15 made ""
row 16 unfit "forward: the output is None"
row 17 failed "17_Network.py:12"
row 18 made ""
row 19 unfit "outputs.nearly_constant"
row 20 made ""
# suite.json keeps what earlier imports into the folder came to, and names what this one refused.
python3 - made/suite.json <<'END' || fail "suite.json is not what was imported: $(cat made/suite.json)"
import json, sys
suite = json.load(open(sys.argv[1]))
problems = {p["task"]: p for p in suite["problems"]}
assert len(problems) == len(suite["problems"]) == 21 and problems["level1_2_ReLU"]["folder"] == "level1_2_ReLU"
assert problems["level1_2_Endless_Import"]["rule"] == "limit" and problems["level1_7_Zero_Output"]["rule"] == "outputs.zero"
assert all(("folder" in p) != ("rule" in p and bool(p["reason"])) for p in problems.values())
assert len(suite["imports"]) == 3
END
expect 0 task show made/level1_4_Tuple_Output --json
json '[(a["name"], a["shape"]) for a in o["task"]["arguments"] if a["kind"] == "output"] == [("out0", [32]), ("out1", [32, 48])]'
expect 0 task show made/level1_15_Transposed_Output --json
json '[a["shape"] for a in o["task"]["arguments"]] == [[32, 48], [48, 32]]'
expect 0 task show made/level1_20_Signs_And_Matrices --json
json '[a["distribution"]["kind"] for a in o["task"]["arguments"] if a["kind"] == "input"] == ["upper_triangular", "symmetric", "signs"]'
json 'o["task"]["work"]["bytes"] == 4 * (32 * 32 // 2 * 2 + 32 + 32 * 32)'

# robust-kbench: configurations, forward and backward.
mkdir -p robust/tasks/scale && cat >robust/tasks/scale/func_forward.py <<'END'
import torch
import torch.nn as nn


def forward_fn(x, weight, power):
    return (x * weight) ** power


class Model(nn.Module):
    """Scaled, then to a power."""

    def __init__(self, features: int, power=2, init_method="normal", bound=1.0, more=None):
        super(Model, self).__init__()
        assert isinstance(bound, float) and isinstance(features, int)
        assert more in (None, [1, 2.0, None, True, {"a": 1e3}, "x\"1.5"])
        assert more is None or isinstance(more[1], float)
        self.weight = nn.Parameter(torch.randn(features) if init_method == "normal" else torch.ones(features))
        self.power = power

    def forward(self, x, fn=forward_fn):
        return fn(x, self.weight, self.power)


def get_inputs(batch_size: int = 16, features: int = 8):
    return [torch.randn(batch_size, features)]


input_names = ["x"]
END
cp robust/tasks/scale/func_forward.py robust/tasks/scale/func_backward.py
config='{"single_input_configs": [{"batch_size": 24}],
"single_init_configs": [{"init_method": "normal", "bound": 2.0, "more": [1, 2.0, null, true, {"a": 1e3}, "x\"1.5"]}, {"init_method": "ones"}],
"single_shared_configs": [{"features": 40}],
"multi_input_configs": [{}], "multi_init_configs": [{}], "multi_shared_configs": [{}]}'
echo "$config" >robust/tasks/scale/config_forward.json
echo "$config" | sed 's/, {"init_method": "ones"}//' >robust/tasks/scale/config_backward.json
expect 0 import robust-kbench robust -o made --json --unchecked
json '[(p["task"], p["status"]) for p in o["problems"]] == [("robust_scale_backward", "made"), ("robust_scale_forward_1", "made"), ("robust_scale_forward_2", "made")]'
expect 0 task show made/robust_scale_backward --json
json '[(a["name"], a["shape"]) for a in o["task"]["arguments"]] == [("grad_output", [24, 40]), ("in1", [24, 40]), ("forward_model_weight", [40]), ("out0", [24, 40]), ("out1", [40])]'
rm robust/tasks/scale/config_forward.json robust/tasks/scale/func_forward.py
expect 0 import robust-kbench robust -o small --scale 800 --json --unchecked
json 'all(p["elements"] <= 800 and "shared_features=" in p["patches"] for p in o["problems"])'
cp robust/tasks/scale/func_backward.py robust/tasks/scale/func_forward.py
echo '{' >robust/tasks/scale/config_forward.json
expect 2 import robust-kbench robust -o made
complains "config_forward.json"
# A file without get_inputs() gets the classes, lines for the one that is offered, and the command
# that goes on, all from one call. With these lines that command works.
cat >gate.py <<'END'
import torch


class Gate(torch.nn.Module):
    def forward(self, x):
        return torch.sigmoid(x) * x
END
template='def get_inputs(): return [torch.randn(16, 128)]  # x; their sizes are yours'
expect 1 import torch gate.py -o "my tasks" --unchecked
grep -qF "its modules are Gate; choose one: --class Gate; it does not define get_inputs(); for Gate append it:" err || fail "$err"
grep -qxF "$template" err || fail "no lines for the class: $err"
grep -qxF "gate: next: kforge import torch --output 'my tasks' --class Gate --unchecked gate.py" err || fail "no command: $err"
grep "^def " err >>gate.py
next=$(sed -n 's/^gate: next: //p' err)
(eval "$next") >out 2>err || fail "the command that goes on: $(cat out err)"
[ -e "my tasks/gate/task.json" ] || fail "no task: $(cat out err)"
cat >several.py <<'END'
import torch


class Encoder(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layer = torch.nn.Linear(width, width)

    def forward(self, x, mask):
        return self.layer(x) * mask


class Decoder(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
END
expect 1 import torch several.py -o made --json
json '"its modules are Encoder, Decoder; choose one: --class Encoder; it does not define get_inputs(); for Encoder append it: def get_inputs(): return [torch.randn(16, 128), torch.randn(16, 128)]  # x, mask;" in o["problems"][0]["reason"]'
grep -qxF "def get_init_inputs(): return [128]  # width" err || fail "no lines for the constructor: $err"
grep -qxF "several: next: kforge import torch --output made --class Encoder --json several.py" err || fail "$err"
expect 1 import torch several.py --class Decoder
grep -qxF "$template" err && grep -qxF "several: next: kforge import torch --class Decoder several.py" err || fail "$err"
# With its inputs a file lacks only the choice, and one without modules has nothing to choose.
echo "def get_inputs(): return [torch.randn(16, 128)]" >>several.py
expect 1 import torch several.py -o made
grep -q "choose one: --class Encoder$" err && grep -qxF "several: next: kforge import torch --output made --class Encoder several.py" err || fail "$err"
echo "import torch" >empty/none.py
expect 1 import torch empty
grep -qF "none.py: it does not define class Model; expected class Model(nn.Module)" err || fail "$err"
grep -q "next:" err && fail "a next step without a class: $err"
finish
