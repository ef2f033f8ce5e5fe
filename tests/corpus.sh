#!/bin/sh
# corpus.sh BIN FILE: judges one file of tests/hostile or tests/honest on the CPU device, or those of a folder (TASK/). The lines at a file's top say what has to come of
# it (evaluator/judge/selftest.h).
# A timed hostile candidate that a busy machine made look fast is judged once more.
bin=$1 file=$2
tests=$(cd "$(dirname "$0")" && pwd)
judge() {
    "$bin/kforge" selftest --device cpu --all --folder "$tests" --filter "/$file"
}
judge && exit 0
status=$?
if [ $status = 2 ] && grep -q '^// needs: ' "$tests/$file"; then exit 77; fi # the sandbox lacks a layer
case $file in hostile/*) ;; *) exit 1 ;; esac
grep -q '^// mode: timed$' "$tests/$file" || exit 1
echo "once more:"
judge
