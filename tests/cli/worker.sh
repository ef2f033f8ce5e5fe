#!/bin/bash
# kforge worker as those who write their own client see it.
source "$(dirname "$0")/lib.sh"

# Hello, an answer to each line, the end with the input.
printf 'no job\n\n{"schema":"kforge-job/1","id":"x"}\n' | "$program" worker --device cpu >out || fail "status $?"
python3 - <<'END' || fail "$(cat out)"
import json
hello, first, second = [json.loads(line) for line in open("out")]
assert hello["schema"] == "kforge-hello/1" and hello["device"] == "cpu" and hello["hardware"]
assert first["schema"] == second["schema"] == "kforge-refusal/1"
assert first["id"] is None and second["id"] == "x" and "missing" in second["error"]
END

# Nobody reads any more: it ends by itself, though its input stays open.
python3 - "$program" <<'END' || fail "a worker without a reader goes on"
import subprocess, sys
worker = subprocess.Popen([sys.argv[1], "worker", "--device", "cpu"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
worker.stdout.readline()
worker.stdout.close()
try:
    worker.wait(5)
finally:
    worker.kill()
END

# A folder.
mkdir -p spool/jobs
echo nonsense >spool/jobs/a.json
expect 0 worker --device cpu --spool spool --once
grep -q kforge-refusal/1 spool/verdicts/a.json || fail "no answer"
[ -z "$(ls spool/jobs spool/taken spool/workers | grep json)" ] || fail "left behind: $(ls -R spool)"
expect 2 worker --once
complains "--spool"
finish
