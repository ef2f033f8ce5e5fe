"""Replaces the build of a solution: checks that it is Python and defines class ModelNew. Runs
nothing of it."""
import ast
import sys

from load import LoadError, assigned_names, parse


def binds(tree, name):
    """True if a statement at module level, however deep in if and try, binds the name."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and node.name == name:
            return True
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            if any((alias.asname or alias.name) in (name, "*") for alias in node.names):
                return True
    return name in assigned_names(tree)


def main(arguments):
    if len(arguments) != 1:
        return 2
    name = arguments[0]
    try:
        with open(name, encoding="utf-8") as file:
            tree = parse(file.read(), name)
        if not binds(tree, "ModelNew"):
            raise LoadError(
                "it does not define class ModelNew",
                name,
                "a solution is a Python file with class ModelNew(nn.Module)",
            )
    except LoadError as error:
        print(
            "%s: error: %s%s" % (error.where, error.what, "; " + error.todo if error.todo else ""),
            file=sys.stderr,
        )
        return 1
    return 0
