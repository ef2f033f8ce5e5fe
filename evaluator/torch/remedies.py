"""The place and the remedy in the message about a problem that is unfit (describe.py)."""

import json
import os

# The file that a user of a format of others edits, and the part of it that a rule is about.
FILES = {"raw": "driver.cpp", "gpu-mode": "reference.py", "kernelbench.com": "reference.py"}
PARTS = {
    "gpu-mode": {"get_inputs": "generate_input", "forward": "ref_kernel"},
    "kernelbench.com": {"get_inputs": "get_inputs", "forward": "Model.forward"},
}

SMALLER = "--scale N or --patch NAME=N makes it smaller"
OTHER_INPUTS = "give inputs that the result depends on, or other sizes with --patch NAME=N"

# rule: (part of the file, remedy)
REMEDIES = {
    "arguments.count": ("forward", "pass fewer tensors, or join small ones"),
    "dtype": ("forward", "convert it to a dtype of kforge, such as float32"),
    "inputs.count": ("get_inputs", "return one value for each parameter of forward"),
    "inputs.distribution": (
        "get_inputs",
        "let forward take any numbers of the same kind and range, or return other inputs",
    ),
    "inputs.fixed": (
        "get_inputs",
        "draw each tensor with torch.rand, torch.randn or torch.randint",
    ),
    "inputs.none": ("get_inputs", "return a tensor, or give the module a parameter"),
    "inputs.random_count": ("get_inputs", "return the same number of values in each call"),
    "inputs.random_shape": ("get_inputs", "take its shape from module-level constants"),
    "inputs.type": ("get_inputs", "return dense tensors, and numbers that stay the same"),
    "inputs.without_influence": ("forward", "use the input, or leave it out"),
    "model.raises": (
        "forward",
        "correct it; if this processor or PyTorch lacks an operation, import with --device cuda, "
        "or choose a newer PyTorch with KFORGE_PYTHON",
    ),
    "outputs.constant": ("forward", OTHER_INPUTS),
    "outputs.data_shape": ("forward", "return tensors of a shape that only sizes decide"),
    "outputs.empty": ("forward", "return at least one element"),
    "outputs.identity": ("forward", "return a computed tensor"),
    "outputs.nearly_constant": ("forward", OTHER_INPUTS),
    "outputs.nonfinite": ("forward", "give smaller inputs, or another dtype"),
    "outputs.random": (
        "forward",
        "pass random numbers as an input, or import with --mode eval if dropout draws them",
    ),
    "outputs.random_shape": ("forward", "return tensors of a shape that only sizes decide"),
    "outputs.state": ("forward", "make that state an input and an output, or set it anew"),
    "outputs.type": ("forward", "return a tensor, or a tuple, list or dict of tensors"),
    "outputs.unstable": (
        "forward",
        "give inputs for which rounding does not decide, or other sizes with --patch NAME=N",
    ),
    "outputs.zero": ("forward", OTHER_INPUTS),
    "params.count": ("", "list fewer workloads"),
    "reference.outputs": ("", "correct the declared outputs or the reference"),
    "reference.workload": ("", "correct the workload or the reference"),
    "size.large": ("", SMALLER),
    "size.memory": ("", "--memory GIB gives it more, " + SMALLER),
    "size.unknown": ("", SMALLER),
}


def with_remedy(rule, reason, path, bundle=False):
    """Returns the reason with the place before it and the remedy behind it."""
    part, remedy = REMEDIES.get(rule, ("", "see docs/reference/import.md"))
    file, parts = os.path.basename(str(path)), {}
    if bundle:
        with open(path, encoding="utf-8") as text:
            form = json.load(text).get("format")
        file, parts = FILES.get(form, file), PARTS.get(form, {})
        part = parts.get(part, "")
    if reason.startswith(file + ":"):
        return "%s; %s" % (reason, remedy)
    place = ": ".join(word for word in (file, part) if word)
    return "%s: %s; %s" % (place, reason, remedy)
