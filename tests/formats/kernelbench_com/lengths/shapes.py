SHAPES = [
    {"rows": 4, "length": 12, "pages": 64},
    {"rows": 2, "length": 40, "pages": 32},
    {"rows": 3, "length": 9, "pages": 128},
]
