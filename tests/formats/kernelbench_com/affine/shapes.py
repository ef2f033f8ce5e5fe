WIDE = 64
SHAPES = [
    {"BATCH": 16, "FEATURES": 32, "SLOPE": 0.5},
    {"BATCH": 5, "FEATURES": WIDE, "SLOPE": 0.25},
    {"BATCH": 16, "FEATURES": 33, "SLOPE": 0.5},
]
