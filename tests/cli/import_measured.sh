#!/bin/bash
# import: what a problem is measured to be (evaluator/torch): whether rounding decides, what a smaller size leaves of its weights, whether those may stay frozen.
source "$(dirname "$0")/lib.sh"
if ! /usr/bin/python3 -I -c 'import torch' 2>/dev/null && ! python3 -I -c 'import torch' 2>/dev/null; then
    finish
    echo "skipped: no PyTorch (Debian: python3-torch)"
    exit 77
fi

# Rounding decides in every other draw of its weight, but not in the first. An image keeps its size
# if a smaller one would save next to nothing.
cat >sometimes.py <<'END'
import torch
import torch.nn as nn


class Model(nn.Module):
    """Rounds its input to halves where its first weight is negative."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(64))

    def forward(self, x):
        far = (self.weight[0] < 0) * 4e6
        return (x + far) - far + self.weight


def get_inputs():
    return [torch.rand(32, 64)]
END
expect 1 import torch sometimes.py -o mine --json --unchecked
json 'o["problems"][0]["rule"] == "outputs.unstable"'
cat >pixels.py <<'END'
import torch
import torch.nn as nn


class Model(nn.Module):
    """Weights that no constant makes smaller, behind a picture that two do."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU())
        self.head = nn.Linear(64, 4096)

    def forward(self, x):
        return self.head(self.stem(x).mean(dim=(2, 3)))


batch = 4
size = 64


def get_inputs():
    return [torch.rand(batch, 3, size, size)]
END
expect 0 import torch pixels.py --scale 20000 -o mine --unchecked
expect 0 task show mine/pixels --json
json '[a["shape"][-1] for a in o["task"]["arguments"] if a["name"] == "x"][0] >= 16'

# A tensor stays an argument if a smaller size removes it or makes it irrelevant. Examples: layers,
# a shortcut if channels differ, an image that shrinks to one pixel before a softmax.
cat >layers.py <<'END'
import torch
import torch.nn as nn


class Model(nn.Module):
    """As many layers as a constant says, and nothing else makes it smaller."""

    def __init__(self, counts):
        super().__init__()
        self.parts = nn.Sequential(*[nn.Conv2d(16, 16, 3, padding=1) for _ in range(sum(counts))])

    def forward(self, x):
        return self.parts(x)


counts = [3, 4]


def get_inputs():
    return [torch.rand(8, 16, 64, 64)]


def get_init_inputs():
    return [counts]
END
cat >shortcut.py <<'END'
import torch
import torch.nn as nn


class Model(nn.Module):
    """Halved, its output has as many channels as its input."""

    def __init__(self, channels, wider):
        super().__init__()
        self.body = nn.Conv2d(channels, wider, 1)
        self.shortcut = nn.Sequential() if channels == wider else nn.Conv2d(channels, wider, 1)

    def forward(self, x):
        return torch.relu(self.body(x)) + self.shortcut(x)


batch = 48
channels = 64
wider = 128
size = 24


def get_inputs():
    return [torch.rand(batch, channels, size, size)]


def get_init_inputs():
    return [channels, wider]
END
cat >pooled.py <<'END'
import torch
import torch.nn as nn


class Model(nn.Module):
    """Weights of which a softmax over a pixel's width leaves nothing."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(1, 64, 1)
        self.deep = nn.Conv2d(64, 64, 3, padding=1)

    def forward(self, x):
        return torch.softmax(torch.max_pool2d(self.deep(self.stem(x)), (16, 128)), dim=-1).sum(dim=1) + x.mean(dim=(2, 3), keepdim=True)[:, 0]


width = 1024


def get_inputs():
    return [torch.rand(2, 1, 16, width)]
END
mkdir shrunk && mv layers.py shortcut.py pooled.py shrunk/
expect 0 import torch shrunk -o mine --json --unchecked
json 'all(p["status"] == "made" for p in o["problems"])'
for row in "layers 14" "shortcut 4" "pooled 4"; do
    set -- $row
    expect 0 task show "mine/$1" --json
    json "len(o[\"task\"][\"torch\"][\"state\"]) == $2"
done

# Integers have the bounds of the task's size, although a smaller one is measured.
cat >classes.py <<'END'
import torch
import torch.nn as nn


class Model(nn.Module):
    """Cross entropy of classes."""

    def forward(self, predictions, targets):
        return nn.functional.cross_entropy(predictions, targets)


batch = 2048
classes = 4096


def get_inputs():
    return [torch.rand(batch, classes), torch.randint(0, classes, (batch,))]
END
expect 0 import torch classes.py -o mine --json --unchecked
json '"classes=2048" in o["problems"][0]["notes"]'
expect 0 task show mine/classes --json
json '[a["distribution"]["high"] for a in o["task"]["arguments"] if a["name"] == "targets"] == [4096]'

# Whether weights that constructors draw ask as much of a solution: each file's first line says it.
expect 0 import torch "$root/tests/torch/freezable" -o freezable --json --unchecked
python3 - "$root/tests/torch/freezable" <<'END' || fail "torch.frozen is not what first lines say"
import json, pathlib, sys
files = sorted(pathlib.Path(sys.argv[1]).glob("*.py"))
assert len(files) >= 15
for file in files:
    expected = file.read_text().split("\n", 1)[0]
    task = json.load(open("freezable/%s/task.json" % file.stem))
    frozen, reason = task["torch"].get("frozen", False), task["origin"].get("not_frozen", "")
    assert (expected == "# frozen: yes") == frozen and (frozen or expected[len("# frozen: no: "):] in reason), (file.name, expected, frozen, reason)
END
finish
