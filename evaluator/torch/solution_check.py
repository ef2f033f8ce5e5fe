"""Replaces the build of a solution: checks that it is Python and defines class ModelNew, or
the name that solutions of its task's format define. Runs nothing of it.

    check FILE [NAME]
"""
import ast
import sys

from load import SOLUTION_CLASS, LoadError, assigned_names, parse


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
    if len(arguments) not in (1, 2):
        return 2
    name, other = arguments[0], arguments[1] if len(arguments) == 2 else None
    try:
        with open(name, encoding="utf-8") as file:
            tree = parse(file.read(), name)
        if not binds(tree, SOLUTION_CLASS) and not (other and binds(tree, other)):
            raise LoadError(
                "it does not define class %s%s" % (SOLUTION_CLASS, " or %s" % other if other else ""),
                name,
                "a solution is a Python file with class %s(nn.Module)%s"
                % (SOLUTION_CLASS, " or with %s" % other if other else ""),
            )
    except LoadError as error:
        print(
            "%s: error: %s%s" % (error.where, error.what, "; " + error.todo if error.todo else ""),
            file=sys.stderr,
        )
        return 1
    return 0
