# One of the names is a function of reference.py.
SHAPES = [{"batch": 32, "steps": 4}, {"batch": 8, "steps": 9}]
