"""Checks files of events against the schema in the documentation.

    check_events.py SCHEMA FILE… [EVENT…]

Each line must be valid, and may have no field that the schema does not name. The numbers of the
lines rise. The EVENTs are kinds that must occur. Prints the number of events of each kind.
"""
import collections
import json
import os
import sys

import jsonschema

schema = json.load(open(sys.argv[1], encoding="utf-8"))
validator = jsonschema.Draft202012Validator(schema)
files = [name for name in sys.argv[2:] if os.path.exists(name)]
assert files, "no file of events"
kinds = collections.Counter()
for name in files:
    seqs = []
    for number, line in enumerate(open(name, encoding="utf-8"), 1):
        where = f"{name}:{number}"
        assert line.endswith("\n"), f"{where}: cut"
        event = json.loads(line)
        for error in validator.iter_errors(event):
            raise SystemExit(f"{where}: {error.json_path}: {error.message}\n{line}")
        known = schema["properties"] | schema["$defs"][event["event"]]["properties"]
        assert not set(event) - set(known), f"{where}: not in the schema: {set(event) - set(known)}"
        kinds[event["event"]] += 1
        seqs.append(event["seq"])
    assert len(set(seqs)) == len(seqs), f"{name}: a number occurs twice"
wanted = [name for name in sys.argv[2:] if not os.path.exists(name)]
assert set(wanted) <= set(kinds), f"missing: {set(wanted) - set(kinds)}"
print(json.dumps(kinds))
