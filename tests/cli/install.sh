#!/bin/bash
# An installation works in its place, without the build folder's environment. So does the unpacked
# tarball.
source "$(dirname "$0")/lib.sh"

cmake --install "$bin/.." --prefix "$work/prefix" --strip >log 2>&1 || { cat log >&2; exit 1; }
for file in bin/kforge bin/kforge-cpucc bin/kforge-runner lib/kforge/libkfcpu.so lib/kforge/cpu/include/cuda_runtime.h share/man/man1/kforge.1 \
    share/bash-completion/completions/kforge share/zsh/site-functions/_kforge share/kforge/tasks/row_softmax/task.json \
    share/kforge/skills/kforge/SKILL.md share/doc/kforge/AGENTS.md share/doc/kforge/LICENSE share/doc/kforge/README.md share/doc/kforge/docs/reference/commands.md; do
    [ -s "$work/prefix/$file" ] || fail "$file is not there"
done
size=$(du -sm prefix | cut -f 1)
[ "$size" -le 40 ] || fail "an installation takes $size MB: $(du -am prefix | sort -rn | head)"
mv prefix moved
program=$work/moved/bin/kforge
expect 0 doctor --json
json 'o["can_judge"] is True'
expect 0 task lint --device cpu moved/share/kforge/tasks/axpy
says "axpy: good"
"$program" help --man | cmp -s - moved/share/man/man1/kforge.1 || fail "the man page is another version's"

# The tasks of kforge are found by name from any folder. A folder of that name here comes first.
unset KFORGE_STORE
mkdir elsewhere && cd elsewhere || exit 1
expect 0 list --tasks --json
json 'len(o["tasks"]) >= 14 and all(t["folder"].startswith("'"$work"'/moved/share/kforge/tasks/") for t in o["tasks"])'
expect 0 task show axpy
says "moved/share/kforge/tasks/axpy"
mkdir tasks && cp -r ../moved/share/kforge/tasks/axpy tasks/axpy
expect 0 task show axpy
says " tasks/axpy"
expect 0 list --tasks --json
json '[t["folder"] for t in o["tasks"] if t["name"] == "axpy"] == ["tasks/axpy"] and len(o["tasks"]) >= 14'
rm -r tasks

# Builds that begin at once make one precompiled header in the user's cache, and use it.
cat >copy.cu <<'END'
#include <cuda_runtime.h>
END
cat ../moved/share/kforge/tasks/axpy/baseline.cu >>copy.cu
for i in 1 2 3; do "$program" eval axpy copy.cu --device cpu --check-only --no-keep >"out.$i" 2>&1 & done
wait
for i in 1 2 3; do grep -q correct "out.$i" || fail "$(cat "out.$i")"; done
made=("$HOME"/.cache/kforge/headers/*/plain/*)
[ "${#made[@]}" = 2 ] && [ -s "${made[1]}" ] && [ "${made[1]##*/}" = kforge_cpu.h.gch ] || fail "headers: ${made[*]}"
folder=${made[0]%/plain/*}
[ "$(stat -c %a "$folder")" = 700 ] || fail "others may write headers: $(stat -c %A "$folder")"
"$work/moved/bin/kforge-cpucc" --precompiled "$folder" --keep kept -o copy.so copy.cu || fail "kforge-cpucc --precompiled"
grep -q "pch_preprocess \"$folder/plain/kforge_cpu.h.gch\"" kept/0.ii || fail "the header does not fit"
# Without a header: other users may write to the folder, or it does not exist.
chmod 777 "$folder"
expect_judged 0 eval axpy copy.cu --device cpu --check-only --no-keep
[ "$(stat -c %a "$folder")" = 777 ] || fail "a folder that others may write was used"
rm -r "$HOME/.cache"
HOME=/nonexistent expect_judged 0 eval axpy copy.cu --device cpu --check-only --no-keep
[ ! -e "$HOME/.cache" ] || fail "made $HOME/.cache"
cd ..

# The tarball.
cpack --config "$bin/../CPackConfig.cmake" -G TGZ -B "$work/packages" >log 2>&1 || { cat log >&2; exit 1; }
mkdir unpacked && tar -xzf packages/kforge-*.tar.gz -C unpacked --strip-components=1 || fail "no tarball"
program=$work/unpacked/bin/kforge
expect 0 task show row_softmax
says "unpacked/share/kforge/tasks/row_softmax"
finish
