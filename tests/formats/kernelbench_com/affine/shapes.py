WIDE = 64
SHAPES = [
    {"BATCH": 16, "FEATURES": 32},
    {"BATCH": 5, "FEATURES": WIDE},
    {"BATCH": 16, "FEATURES": 33},
]
