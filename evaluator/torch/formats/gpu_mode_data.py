"""Divides the data of a GPU MODE problem into leaves, which become arguments, and the rest.

Leaves are the tensors and numbers in tuples, lists, dicts, dataclasses, modules (parameters and
buffers), and objects of classes of the problem's own files. Each leaf has a *path*,
the Python expression that leads to it from the data: `[2]['norm.weight']`, `[0].width`. All other
values (texts, dtypes, functions) are constants. `Divided.build` makes the same data around other
leaves, with new containers. So a reference that writes to its data leaves no trace.
"""

import argparse
import copy
import dataclasses
import enum
import types

import torch

import load

NAMESPACES = (types.SimpleNamespace, argparse.Namespace)
STATE = ("_parameters", "_buffers", "_modules")  # of a module


class Node:
    """A container with its parts. `shell`: an empty container for build."""

    def __init__(self, shell, parts):
        self.shell, self.parts = shell, parts


class Leaf:
    def __init__(self, number, wants_gradient):
        # None: no parameter of a module
        self.number, self.wants_gradient = number, wants_gradient


class Constant:
    def __init__(self, value):
        self.value = value


def attributes(value):
    """Returns {name: value} of an object, with its slots."""
    slots = [n for c in type(value).__mro__ for n in getattr(c, "__slots__", ()) or ()]
    found = {n: getattr(value, n) for n in slots if n not in STATE and hasattr(value, n)}
    found.update(getattr(value, "__dict__", {}))
    return found


class Divided:
    """`own`: the names of the modules that the problem's files make."""

    def __init__(self, data, own=()):
        self.own = own
        self.leaves, self.paths = [], []
        self._keys, self._known = [], {}
        self._root = self._walk(data, "", ())
        del self._known  # it has the data's tensors

    def names(self, first):
        """Returns a name for each leaf. `first`: of the parts of a tuple or list, or of the data."""
        result, taken = [], set()
        for keys in self._keys:
            top, rest = (first[keys[0]], keys[1:]) if self.has_parts() else (first[0], keys)
            name = "_".join([top] + [str(k) for k in rest])
            name = "".join(c if c.isalnum() and c.isascii() else "_" for c in name)
            name = name if name.isidentifier() else "in_" + name
            while name in taken:
                name += "_"
            taken.add(name)
            result.append(name)
        return result

    def has_parts(self):
        return isinstance(self._root, Node) and self._root.shell in ("tuple", "list")

    def parts(self, names):
        """Returns the name of each part of the data, None for a constant. None for nested data."""
        if not self.has_parts():
            return names if isinstance(self._root, Leaf) else None
        inner = [part for _, part in self._root.parts]
        if any(isinstance(part, Node) for part in inner):
            return None
        return [names[part.number] if isinstance(part, Leaf) else None for part in inner]

    def drop(self):
        """Gives the memory of the leaves back. `build` does not need them."""
        self.leaves = [None] * len(self.leaves)
        return self

    # ---- division --------------------------------------------------------------------------------

    def _walk(self, value, path, keys):
        if type(value) in (bool, int, float):
            return self._leaf(value, path, keys)
        if id(value) in self._known:
            return self._known[id(value)][0]
        if isinstance(value, torch.Tensor):
            node = self._leaf(value, path, keys)
        elif isinstance(value, (tuple, list)):
            node = self._open(self._shell(value), value)
            for i, part in enumerate(value):
                node.parts.append((i, self._walk(part, "%s[%d]" % (path, i), keys + (i,))))
        elif isinstance(value, dict):
            empty = copy.copy(value)
            empty.clear()
            node = self._open(empty, value)
            for key, part in value.items():
                node.parts.append((key, self._walk(part, "%s[%r]" % (path, key), keys + (key,))))
        elif self._is_object(value):
            node = self._open(type(value), value)
            for name, part in attributes(value).items():
                inner = self._attribute(value, name, part, path, keys)
                node.parts.append((name, inner))
        else:
            self._require_constant(value, path)
            node = Constant(value)
        self._known[id(value)] = (node, value)
        return node

    def _open(self, shell, value):
        """Returns a node that its own parts may refer to."""
        node = Node(shell, [])
        self._known[id(value)] = (node, value)
        return node

    @staticmethod
    def _shell(value):
        kind = type(value)
        if kind in (tuple, list):
            return kind.__name__
        return kind._make if hasattr(kind, "_make") else kind

    def _leaf(self, value, path, keys):
        wants = value.requires_grad if isinstance(value, torch.nn.Parameter) else None
        self.leaves.append(value.detach() if isinstance(value, torch.Tensor) else value)
        self.paths.append(path)
        self._keys.append(keys)
        return Leaf(len(self.leaves) - 1, wants)

    def _attribute(self, value, name, part, path, keys):
        if not isinstance(value, torch.nn.Module):
            return self._walk(part, "%s.%s" % (path, name), keys + (name,))
        if name in STATE:  # their entries are attributes
            empty = copy.copy(part)
            empty.clear()
            node = Node(empty, [])
            for key, each in part.items():
                node.parts.append((key, self._walk(each, "%s.%s" % (path, key), keys + (key,))))
            return node
        own = type(value).__module__ in self.own
        if name.startswith("_") or name == "training" or not own:
            return Constant(part)
        return self._walk(part, "%s.%s" % (path, name), keys + (name,))

    def _is_object(self, value):
        kind = type(value)
        if isinstance(value, (type, types.ModuleType, types.FunctionType, enum.Enum)):
            return False
        return (
            isinstance(value, (torch.nn.Module,) + NAMESPACES)
            or dataclasses.is_dataclass(value)
            or kind.__module__ in self.own
        )

    def _require_constant(self, value, path):
        """Refuses a value with tensors that would be the same in each draw."""
        inner = getattr(value, "__dict__", {}) if not isinstance(value, type) else {}
        holds = callable(getattr(inner, "values", None)) and any(
            isinstance(v, torch.Tensor) for v in inner.values()
        )
        kind = type(value)
        if holds or kind.__module__ == "numpy":
            raise load.LoadError(
                "data%s is a %s.%s, which kforge can't divide into tensors"
                % (path, kind.__module__, kind.__name__),
                "reference.py: generate_input",
                "expected tensors, numbers, texts, tuples, lists, dicts, modules, dataclasses, or "
                "a class of the problem's own files",
            )

    # ---- building --------------------------------------------------------------------------------

    def build(self, leaves):
        """Returns the data with other leaves, in the same order."""
        return self._build(self._root, leaves, {})

    def _build(self, node, leaves, made):
        if isinstance(node, Constant):
            return node.value
        if isinstance(node, Leaf):
            value = leaves[node.number]
            if node.wants_gradient is None or not isinstance(value, torch.Tensor):
                return value
            return torch.nn.Parameter(value, requires_grad=node.wants_gradient)
        if id(node) in made:
            return made[id(node)]
        if isinstance(node.shell, dict):
            made[id(node)] = result = copy.copy(node.shell)
            for key, part in node.parts:
                result[key] = self._build(part, leaves, made)
        elif node.shell == "list":
            made[id(node)] = result = []
            result.extend(self._build(part, leaves, made) for _, part in node.parts)
        elif node.shell == "tuple":
            result = tuple(self._build(part, leaves, made) for _, part in node.parts)
        elif isinstance(node.shell, type) and not issubclass(node.shell, (tuple, list)):
            made[id(node)] = result = node.shell.__new__(node.shell)
            for name, part in node.parts:
                object.__setattr__(result, name, self._build(part, leaves, made))
        else:
            result = node.shell(self._build(part, leaves, made) for _, part in node.parts)
        made[id(node)] = result
        return result


def tensors_of(value, own=()):
    """Returns a result with its numbers as tensors, and its objects as tuples of theirs."""
    if value is None or isinstance(value, torch.Tensor):
        return value
    if isinstance(value, dict):
        return {key: tensors_of(part, own) for key, part in value.items()}
    if isinstance(value, (tuple, list)):
        return type(value)._make(tensors_of(p, own) for p in value) if hasattr(
            value, "_make"
        ) else type(value)(tensors_of(p, own) for p in value)
    if type(value) in (bool, int, float):
        return torch.tensor(value, dtype=torch.float64 if type(value) is float else None)
    divided = Divided(value, own)
    return tuple(tensors_of(leaf) for leaf in divided.leaves) if divided.leaves else value
