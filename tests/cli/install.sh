#!/bin/bash
# An installation works from where it is, without the build folder's environment.
source "$(dirname "$0")/lib.sh"

cmake --install "$bin/.." --prefix "$work/prefix" >log 2>&1 || { cat log >&2; exit 1; }
for file in bin/kforge bin/kforge-cpucc bin/kforge-runner lib/kforge/libkfcpu.so lib/kforge/cpu/include/cuda_runtime.h share/man/man1/kforge.1 \
    share/bash-completion/completions/kforge share/zsh/site-functions/_kforge share/kforge/tasks/row_softmax/task.json; do
    [ -s "$work/prefix/$file" ] || fail "$file is not there"
done
mv prefix moved
program=$work/moved/bin/kforge
expect 0 doctor --json
json 'o["can_judge"] is True'
expect 0 task lint --device cpu moved/share/kforge/tasks/axpy
says "axpy: good"
"$program" help --man | cmp -s - moved/share/man/man1/kforge.1 || fail "the man page is another version's"
finish
