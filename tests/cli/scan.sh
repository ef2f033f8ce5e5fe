#!/bin/bash
# kforge scan: what is listed of sources and binaries, and that nothing of it is a verdict.
source "$(dirname "$0")/lib.sh"
cheats=$root/tests/hostile

expect 0 scan "$cheats/vecadd/words_in_pieces.cu"
says "state.kept"
says "set"
expect 0 scan "$cheats/vecadd/words_in_pieces.cu" --no-compile
says "macro.pasting"
expect 0 scan "$cheats/scale/forged_answer.cu" --json
json 'any(f["rule"] == "runner.descriptor" and f["line"] > 1 for f in o["flags"]) and o["schema"] == "kforge-scan/1"'
expect 0 scan "$cheats/gemm/loads_a_library.cu" --json
json 'any(f["rule"] == "code.load" and f["word"] == "dlopen" and f["from"] == "binary" for f in o["flags"])'
# A source that does not compile is scanned unpreprocessed. The jail keeps secrets out of the
# scanned text.
expect 0 scan "$cheats/scale/include_secret.cu"
says "build.include"
expect 0 scan "$root/tests/honest/vecadd/feared_words.cu" --no-compile
says "nothing found"
# Lines of CUDA that a line of Python resembles hide nothing.
for text in '/*\nfrom the host side\n*/' 'class Tile\n{\n};' '/*\nimport x\n*/'; do
    printf "$text\nwrite(3, p, 40);\n" >like_python.cu
    expect 0 scan like_python.cu --no-compile
    says "runner.descriptor"
done
printf '#include <math.h>\ndef f():\n    fork()\n' >like_cuda.py
expect 0 scan like_cuda.py
says "process.start"
# Several files: each construct once, with its places.
cp "$cheats/vecadd/words_in_pieces.cu" one.cu
cp one.cu two.cu
expect 0 scan one.cu two.cu --no-compile
[[ $out == *"one.cu:"*", two.cu:"* ]] || fail "places: $out"
[ "$(grep -c '^macro.pasting' <<<"$out")" = "$("$program" scan one.cu --no-compile | grep -c macro.pasting)" ] || fail "not once: $out"
expect 2 scan one.cu nowhere.cu
complains "nowhere.cu"
# Not the libraries that every build needs.
expect 0 scan "$root/tasks/axpy/baseline.cu"
[[ $out != *library.* ]] || fail "libraries of the build: $out"
expect 0 scan "$bin/kforge-runner"
says "library.needed"
expect 2 scan nowhere.cu
complains "nowhere.cu"
printf '\177ELF' >short.so
expect 2 scan short.so
complains "not an ELF file"
printf 'void f(){}\0' >nul.cu
expect 2 scan nul.cu
complains "NUL byte"
finish
