"""Nested values of get_inputs().

A task has tensors and numbers as arguments, in a flat list. A *structure* says where they stand in
the values that forward takes: a number is the index of an argument, a string a constant, None
itself; a list, {"tuple": [...]} and {"dict": {...}} hold more of these. At the top, a dict means
keywords. A plain list of arguments has the structure None.
"""

import inspect


def flatten(value):
    """Returns (list of tensors and numbers, structure)."""
    leaves = []

    def walk(part):
        if isinstance(part, dict):
            return {"dict": {str(key): walk(each) for key, each in part.items()}}
        if isinstance(part, tuple):
            return {"tuple": [walk(each) for each in part]}
        if isinstance(part, list):
            return [walk(each) for each in part]
        if part is None or isinstance(part, str):
            return part
        leaves.append(part)
        return len(leaves) - 1

    made = walk(value if isinstance(value, dict) else list(value))
    return leaves, None if made == list(range(len(leaves))) else made


def rebuild(made, leaves):
    """Returns the value with this structure."""
    if isinstance(made, list):
        return [rebuild(each, leaves) for each in made]
    if isinstance(made, dict):
        if "tuple" in made:
            return tuple(rebuild(each, leaves) for each in made["tuple"])
        return {key: rebuild(each, leaves) for key, each in made["dict"].items()}
    return leaves[made] if isinstance(made, int) else made


def names(made, forward):
    """Returns a name for each argument: the parameter of forward, with keys and indices behind it."""
    found = {}

    def walk(part, name):
        if isinstance(part, dict):
            inner = part.get("dict") or dict(enumerate(part.get("tuple", ())))
        elif isinstance(part, list):
            inner = dict(enumerate(part))
        else:
            if isinstance(part, int):
                found[part] = name
            return
        for key, each in inner.items():
            walk(each, "%s_%s" % (name, key) if name else str(key))

    parameters = [
        p.name
        for p in inspect.signature(forward).parameters.values()
        if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    if isinstance(made, dict):
        walk(made, "")
    else:
        for i, part in enumerate(made):
            walk(part, parameters[i] if i < len(parameters) else "in%d" % i)
    result = []
    for i in range(len(found)):
        name = "".join(c if c.isalnum() and c.isascii() else "_" for c in found[i])
        name = name if name.isidentifier() else "in_" + name
        while name in result:
            name += "_"
        result.append(name)
    return result


def adapt(module, made):
    """Lets a module's forward take the flat list. A class of its own, so that copies work, too."""
    if made is None:
        return module
    kind = type(module)

    def forward(self, *leaves):
        value = rebuild(made, leaves)
        return (
            kind.forward(self, **value) if isinstance(value, dict) else kind.forward(self, *value)
        )

    parameter = inspect.Parameter
    forward.__signature__ = inspect.Signature(
        [parameter("self", parameter.POSITIONAL_ONLY)]
        + [parameter(name, parameter.POSITIONAL_ONLY) for name in names(made, module.forward)]
    )
    module.__class__ = type(kind.__name__, (kind,), {"forward": forward})
    return module
