#!/bin/bash
# Parts of the PyTorch worker that decide something by themselves, each with a test in Python (tests/torch/parts).
source "$(dirname "$0")/lib.sh"
python=$(torch_python) || exit 1
if [ -z "$python" ]; then
    finish
    echo "skipped: no PyTorch (Debian: python3-torch)"
    exit 77
fi
KFORGE_LIBRARIES=$(dirname "$program")/../lib/kforge PYTHONDONTWRITEBYTECODE=1 \
    PYTHONPATH=$root/evaluator/torch "$python" -m unittest discover -v -s "$root/tests/torch/parts" >unittest.txt 2>&1 || {
    cat unittest.txt
    exit 1
}
grep -q '^Ran [1-9]' unittest.txt || { cat unittest.txt && exit 1; }
finish
