#!/bin/bash
# kforge verdict keygen|verify, eval --sign and --replay, with the real judge.
source "$(dirname "$0")/lib.sh"
task=$root/tests/selftest/rowsum
cheat=$root/tests/hostile/rowsum/f16_accumulators.cu

expect 0 verdict keygen key
public=$out
[ ${#public} = 64 ] || fail "no public key: $public"
[ "$(stat -c %a key)" = 600 ] || fail "the key is for others to read"
expect 2 verdict keygen key
complains "never overwrites a key"

expect 1 eval "$task" "$cheat" --device cpu --check-only --timeout 77 --build-seconds 33 --json --sign key
printf '%s\n' "$out" >verdict.json
expect 0 verdict verify verdict.json --key "$public"
says "wrong_result, signed by $public"
expect 1 verdict verify verdict.json --key "${public//[0-7]/8}"
says "signed by another key"
sed 's/wrong_result/correct/g' verdict.json >changed.json
expect 1 verdict verify changed.json
says "does not match"
python3 -c 'import json, sys; v = json.load(open("verdict.json")); json.dump(v, open("spaced.json", "w"), indent=2); del v["signature"]; json.dump(v, open("unsigned.json", "w"))'
expect 0 verdict verify spaced.json
expect 1 verdict verify unsigned.json
says "not signed"
echo '{}' >empty.json
expect 2 verdict verify empty.json
chmod 644 key
expect 2 eval "$task" "$cheat" --device cpu --check-only --sign key
complains "chmod 600"

expect 1 eval "$task" "$cheat" --device cpu --replay verdict.json --json
case $err in
"replay: the same: wrong_result output.mismatch then, wrong_result output.mismatch now"*) ;;
"replay: the same: wrong_result output.inaccurate then, wrong_result output.inaccurate now"*) ;;
*) fail "$err" ;;
esac
printf '%s\n' "$out" >again.json
python3 - <<'PYTHON' || fail "a replay has other inputs"
import json
a, b = json.load(open("verdict.json")), json.load(open("again.json"))
assert [w["outputs"] for w in a["workloads"]] == [w["outputs"] for w in b["workloads"]]
assert b["provenance"]["replayed"] and "replayed" not in a["provenance"]
assert a["provenance"]["keys"] == b["provenance"]["keys"]
assert a["provenance"]["options"] == b["provenance"]["options"]
assert (b["provenance"]["options"]["timeout_seconds"], b["provenance"]["options"]["build_seconds"]) == (77, 33)
PYTHON
expect 2 eval "$task" "$root/tests/honest/rowsum/compensated.cu" --device cpu --replay verdict.json
complains "about another source"
expect 2 eval "$root/tests/selftest/vecadd" "$cheat" --device cpu --replay verdict.json
complains "about another task"
expect 2 eval "$task" "$cheat" --device cpu --replay nowhere.json
complains "nowhere.json"
# An invalid key is bad input. It says nothing about the signature.
expect 2 verdict verify verdict.json --key 3f1c
complains "--key: expected 64 hexadecimal digits"
finish
