#!/bin/bash
# Tasks and solutions for PyTorch on the command line: both verdicts, a missing PyTorch, what is refused.
source "$(dirname "$0")/lib.sh"
tasks=$root/tests/torch/tasks

# Without PyTorch, doctor reports that and the packages to install. A verdict is the machine's fault
# with the same message. The same holds without Python.
printf '#!/bin/sh\nexit 1\n' >no-python && chmod +x no-python
export KFORGE_PYTHON=$work/no-python
"$program" doctor >"$work/out" 2>&1
out=$(cat "$work/out")
says "missing  pytorch"
says "Python is missing"
cp "$root/tests/torch/honest/not_contiguous.py" mine.py
expect 3 eval "$tasks/relu" mine.py --no-keep
says "Python is missing"
says "apt-get install python3-torch"
printf '#!/bin/sh\necho %s\n' "'{\"program\": \"/usr/bin/python3\", \"version\": \"3.8.0\", \"torch\": \"1.7.1\", \"paths\": []}'" >no-python
expect 3 eval "$tasks/relu" mine.py --no-keep
says "$work/no-python of KFORGE_PYTHON has PyTorch 1.7.1, and 1.13 is the least"
unset KFORGE_PYTHON

# Without KFORGE_PYTHON, the first of VIRTUAL_ENV and PATH with PyTorch is used. doctor names it, and
# those that are not used.
pretend() { # FOLDER TORCH
    mkdir -p "$1/bin"
    printf '#!/bin/sh\necho %s\n' "'{\"program\": \"$PWD/$1/bin/python3\", \"version\": \"3.8.0\", \"torch\": \"$2\", \"paths\": []}'" >"$1/bin/python3"
    chmod +x "$1/bin/python3"
}
pretend venv 2.1.0
pretend first 2.2.0
pretend plain ""
chosen() { # WORDS ASSIGNMENT…
    local words=$1 folders
    shift
    env "$@" "$program" doctor --json >out 2>err
    json "[f['text'] for f in o['facts'] if f['subject'] == 'pytorch'] == ['$words']"
}
chosen "PyTorch 2.1.0, Python 3.8.0 ($PWD/venv/bin/python3, from VIRTUAL_ENV)" \
    "VIRTUAL_ENV=$PWD/venv" "PATH=$PWD/first/bin:$PATH"
chosen "PyTorch 2.2.0, Python 3.8.0 ($PWD/first/bin/python3, from PATH)" "PATH=$PWD/first/bin:$PATH"
chosen "PyTorch 2.2.0, Python 3.8.0 ($PWD/first/bin/python3, from PATH); not used: $PWD/plain/bin/python3 of VIRTUAL_ENV (Python 3.8.0) has no PyTorch" \
    "VIRTUAL_ENV=$PWD/plain" "PATH=$PWD/first/bin:$PATH"
chosen "PyTorch 2.1.0, Python 3.8.0 ($PWD/venv/bin/python3, from KFORGE_PYTHON)" \
    "KFORGE_PYTHON=$PWD/venv/bin/python3" "VIRTUAL_ENV=$PWD/plain" "PATH=$PWD/first/bin:$PATH"

# A Python that other users can change is not used.
chmod o+w first/bin
chosen "PyTorch 2.1.0, Python 3.8.0 ($PWD/venv/bin/python3, from PATH); not used: $PWD/first/bin/python3 of VIRTUAL_ENV can be changed by other users" \
    "VIRTUAL_ENV=$PWD/first" "PATH=$PWD/venv/bin:$PATH"

# A problem file that is not the one that the task was made for
mkdir other && sed 's/2_ReLU/3_Linear/' "$tasks/relu/task.json" >other/task.json
sed -i "s#../../../kernelbench#$root/tests/kernelbench#" other/task.json
expect 2 eval other mine.py
complains "has changed since the task was made"
# A solution needs a problem file
expect 2 eval "$root/tasks/axpy" mine.py --no-keep
says "a solution in Python (class ModelNew) needs a task with a problem file"

expect 0 doctor
case $out in
*"ok       pytorch"*) ;;
*)
    finish
    echo "skipped: no PyTorch here"
    exit 77
    ;;
esac
needs_torch
says "PyTorch "
major=$(sed -n 's/^ok  *pytorch  *PyTorch \([0-9]*\)\..*/\1/p' <<<"$out")

# A search has no candidate to begin with, and a model is shown the module.
expect 0 prompt "$tasks/linear"
says "It is this PyTorch module"
says "nn.Linear(features_in, features_out)"

expect_judged 0 eval "$tasks/relu" mine.py -v
says "KernelBench would say: correct (5 / 5)"
says "kforge says: correct"
says "stored as c1"
expect 0 show c1 --source
says "class ModelNew"
expect 0 show c1
says "KernelBench would say: correct (5 / 5)"
expect 1 eval "$tasks/relu" "$root/tests/torch/hostile/patched_allclose.py" --check-only --json
json 'o["status"] == "wrong_result" and o["kernelbench"]["correctness"] and "runtime" not in o["kernelbench"]'
expect 1 eval "$tasks/relu" "$root/tests/torch/bad/syntax.py" --no-keep -v
says "bad/syntax.py:5: error: SyntaxError"
says "next: Fix line 5 first."
says "KernelBench would say: does not compile"
# A reply with a Python program that holds CUDA in a string
printf '```python\nsource = """\nvoid relu() { }\n"""\n%s\n```\nUse it:\n```python\nprint(ModelNew()(x))\n```\n' "$(cat mine.py)" >reply.md
expect 0 eval "$tasks/relu" --reply reply.md --check-only --no-kernelbench
says "reply.md: correct"
expect 0 task lint "$tasks/linear"
# torch.compile is PyTorch 2's, and takes a C++ compiler and Python's headers. There also inputs without extents and weights that are not contiguous.
mkdir compiled && sed 's#"baseline": {"kind": "torch", "file": "problem.py"}#"baseline": {"kind": "torch", "file": "problem.py", "compile": true}#' "$tasks/relu/task.json" >compiled/task.json
sed -i "s#../../../kernelbench#$root/tests/kernelbench#" compiled/task.json
if [ "$major" -ge 2 ]; then
    expect 0 eval compiled mine.py --no-keep --check-only
    expect 0 import torch "$root/tests/torch/compiled/scaled.py" -o scaled --unchecked
    (cat "$root/tests/torch/compiled/scaled.py" && echo "ModelNew = Model") >scaled.py
    expect 0 eval scaled/scaled scaled.py --baseline compiled --no-keep --check-only --no-kernelbench
else
    expect 2 eval compiled mine.py --no-keep --check-only
    says "a baseline through torch.compile can't be judged"
fi
# A sandbox gets the Python and PyTorch, and no other folder that the Python imports from: that of a
# project (pip install -e) holds its oracles.
python=$(torch_python) || exit 1
"$python" -m venv --without-pip project 2>/dev/null || { finish; exit; }
mkdir source && touch source/hidden
"$python" -I -c 'import os, torch; print(os.path.dirname(torch.__path__[0]))' >project.pth
echo "$PWD/source" >>project.pth
cp project.pth project/lib/python3*/site-packages
project/bin/python3 -I -c "import sys; assert '$PWD/source' in sys.path" || fail "source is not in sys.path"
{ printf 'import os\nif os.path.exists("%s"): raise RuntimeError("the source is there")\n' "$PWD/source/hidden" && cat mine.py; } >looks.py
KFORGE_PYTHON=$PWD/project/bin/python3 expect 0 eval "$tasks/relu" looks.py --no-keep --check-only --no-kernelbench
finish
