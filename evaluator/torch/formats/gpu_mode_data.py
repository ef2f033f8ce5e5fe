"""Divides the data of a GPU MODE problem into leaves, which become arguments, and the rest.

Leaves are the tensors and numbers in tuples, lists, dicts, dataclasses, modules (parameters and
buffers), and objects of classes of the problem's own files. Each leaf has a *path*,
the Python expression that leads to it from the data: `[2]['norm.weight']`, `[0].width`. Constants
are the values without state: texts, dtypes, functions. All calls share them, so any other value is
refused. `Divided.build` makes the same data around other leaves, with new containers. So a
reference that writes to its data leaves no trace.
"""

import argparse
import copy
import dataclasses
import enum
import keyword
import sys
import types

import torch

import load

NAMESPACES = (types.SimpleNamespace, argparse.Namespace)
STATE = ("_parameters", "_buffers", "_modules")  # of a module
# PyTorch's own attributes of a module. An LSTM makes its weak references anew for new weights.
OWN_OF_TORCH = {*vars(torch.nn.Module()), "_flat_weight_refs"}
PLAIN = (str, bytes, int, float, complex, type(None), type(...), slice, range, enum.Enum)
PLAIN += (type, types.ModuleType, torch.dtype, torch.device, torch.layout, torch.memory_format)
PLAIN += (torch.finfo, torch.iinfo, types.MethodDescriptorType, types.WrapperDescriptorType)


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


def is_constant(value):
    """True if a value has no state that calls could share."""
    if isinstance(value, (tuple, set, frozenset)):
        return all(is_constant(part) for part in value)
    if isinstance(value, types.FunctionType):
        if getattr(sys.modules.get(value.__module__), value.__name__, None) is value:
            return True  # a module's function, which all calls share anyway
        defaults = (value.__defaults__ or ()) + tuple((value.__kwdefaults__ or {}).values())
        return not value.__closure__ and is_constant(defaults)
    if isinstance(value, types.BuiltinFunctionType):
        return isinstance(value.__self__, (type(None), types.ModuleType, type))
    return isinstance(value, PLAIN) and type(value).__module__ != "numpy"


class Divided:
    """`own`: the names of the modules that the problem's files make. `what` and `where`: the words
    and the place in a message."""

    def __init__(self, data, own=(), what="data", where="reference.py: generate_input"):
        self.own, self.what, self.where = own, what, where
        self.leaves, self.paths = [], []
        self._keys, self._known = [], {}
        self._root = self._walk(data, "", ())
        del self._known  # it has the data's tensors

    def names(self, first):
        """Returns a name for each leaf. `first`: of the parts of a tuple or list, or of the data."""
        result, taken = [], {"self"}
        for keys in self._keys:
            top, rest = (first[keys[0]], keys[1:]) if self.has_parts() else (first[0], keys)
            name = "_".join([top] + [str(k) for k in rest])
            name = "".join(c if c.isalnum() and c.isascii() else "_" for c in name)
            name = name if name.isidentifier() else "in_" + name
            while name in taken or keyword.iskeyword(name):
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
                self._require_constant(key, path + ".keys()")
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
        parts = part if isinstance(part, (tuple, list)) else [part]
        holds = any(isinstance(p, torch.Tensor) for p in parts)
        if name in OWN_OF_TORCH or not (own or holds):
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
        """Refuses a value with state, which would be the same in each draw."""
        kind = type(value)
        if not is_constant(value):
            raise load.LoadError(
                "%s%s is a %s.%s with state, which kforge can't divide into tensors"
                % (self.what, path, kind.__module__, kind.__name__),
                self.where,
                "expected tensors, numbers, texts, tuples, lists, dicts, modules, dataclasses, "
                "functions without a closure, or a class of the problem's own files",
            )

    # ---- building --------------------------------------------------------------------------------

    def build(self, leaves):
        """Returns the data with other leaves, in the same order."""
        return self._build(self._root, leaves, {})

    def _build(self, node, leaves, made):
        if isinstance(node, Constant):
            return set(node.value) if type(node.value) is set else node.value
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


def tensors_of(value, own, where, what="its result"):
    """Returns a result with its numbers as tensors, and its objects as tuples of theirs. `where`:
    the function that returned it."""
    if value is None or isinstance(value, torch.Tensor):
        return value
    if isinstance(value, dict):
        return {k: tensors_of(v, own, where, "%s[%r]" % (what, k)) for k, v in value.items()}
    if isinstance(value, (tuple, list)):
        parts = [tensors_of(v, own, where, "%s[%d]" % (what, i)) for i, v in enumerate(value)]
        return type(value)._make(parts) if hasattr(value, "_make") else type(value)(parts)
    if type(value) in (bool, int, float):
        return torch.tensor(value, dtype=torch.float64 if type(value) is float else None)
    divided = Divided(value, own, what, where)
    return tuple(tensors_of(v, own, where) for v in divided.leaves) if divided.leaves else value
