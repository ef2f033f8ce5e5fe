#!/bin/bash
# An installation works in its place, without the build folder's environment. So does the unpacked
# tarball. install.sh BIN [basics]: without headers of its own and the tarball
source "$(dirname "$0")/lib.sh"
part=${2:-all}
unset XDG_CACHE_HOME # its precompiled headers are for its own place

cmake --install "$bin/.." --prefix "$work/prefix" --strip >log 2>&1 || { cat log >&2; exit 1; }
for file in bin/kforge bin/kforge-cpucc bin/kforge-runner lib/kforge/libkfcpu.so lib/kforge/cpu/include/cuda_runtime.h share/man/man1/kforge.1 \
    share/bash-completion/completions/kforge share/zsh/site-functions/_kforge share/kforge/tasks/row_softmax/task.json \
    share/kforge/skills/kforge/SKILL.md share/doc/kforge/AGENTS.md \
    share/kforge/python/pyproject.toml share/kforge/python/kforge_client/client.py \
    share/doc/kforge/LICENSE share/doc/kforge/README.md share/doc/kforge/docs/reference/commands.md \
    include/kforge.h; do
    [ -s "$work/prefix/$file" ] || fail "$file is not there"
done
size=$(du -sm prefix | cut -f 1)
[ "$size" -le 40 ] || fail "an installation takes $size MB: $(du -am prefix | sort -rn | head)"
mv prefix moved
program=$work/moved/bin/kforge
expect 0 doctor --json
json 'o["can_judge"] is True'
if [ "$part" = all ]; then
    expect 0 task lint --device cpu moved/share/kforge/tasks/axpy
    says "axpy: good"
fi
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
if [ "$part" = all ]; then
    cat >copy.cu <<'END'
#include <cuda_runtime.h>
END
    cat ../moved/share/kforge/tasks/axpy/baseline.cu >>copy.cu
    for i in 1 2 3; do "$program" eval axpy copy.cu --device cpu --check-only --no-keep >"out.$i" 2>&1 & done
    wait
    for i in 1 2 3; do grep -q correct "out.$i" || fail "$(cat "out.$i")"; done
    made=("$HOME"/.cache/kforge/headers/*/light/*)
    [ "${#made[@]}" = 2 ] && [ -s "${made[1]}" ] && [ "${made[1]##*/}" = kforge_cpu.h.gch ] || fail "headers: ${made[*]}"
    folder=${made[0]%/light/*}
    [ "$(stat -c %a "$folder")" = 700 ] || fail "others may write headers: $(stat -c %A "$folder")"
    "$work/moved/bin/kforge-cpucc" --light --precompiled "$folder" --keep kept -o copy.so copy.cu || fail "kforge-cpucc --precompiled"
    grep -q "pch_preprocess \"$folder/light/kforge_cpu.h.gch\"" kept/0.ii || fail "the header does not fit"
    # Without a header: other users may write to the folder, or it does not exist.
    chmod 777 "$folder"
    expect_judged 0 eval axpy copy.cu --device cpu --check-only --no-keep
    [ "$(stat -c %a "$folder")" = 777 ] || fail "a folder that others may write was used"
    rm -r "$HOME/.cache"
    HOME=/nonexistent expect_judged 0 eval axpy copy.cu --device cpu --check-only --no-keep
    [ ! -e "$HOME/.cache" ] || fail "made $HOME/.cache"
fi
cd ..

# The library: a C program built with pkg-config, and threads of another language. (Programs need
# the sanitizer's own flags to load a sanitised library.)
library=$(find "$work/moved" -name libkforge.so.0)
if ! nm -D "$library" | grep -q '__[at]san_'; then
    got=$(nm -D --defined-only "$library" | sed -n 's/.* T \(.*\)@@KFORGE_0/\1/p' | tr '\n' ' ')
    [ "$got" = "kforge_close kforge_extract kforge_free kforge_judge kforge_open kforge_reward " ] || fail "exports: $got"
    [ "$(nm -D --defined-only "$library" | grep -c ' [TDBR] ')" = 6 ] || fail "exports more: $(nm -D --defined-only "$library")"
    PKG_CONFIG_PATH=$(dirname "$(find "$work/moved" -name kforge.pc)")
    export PKG_CONFIG_PATH
    # shellcheck disable=SC2046
    cc -Wall -Werror "$work/moved/share/doc/kforge/examples/example.c" $(pkg-config --cflags --libs kforge) -o example || fail "the example does not compile"
    c++ -x c++ -fsyntax-only -Wall -Werror $(pkg-config --cflags kforge) - <<<'#include <kforge.h>' || fail "kforge.h is no C++"
    [ "$(wc -l <"$work/moved/share/doc/kforge/examples/example.c")" -le 35 ] || fail "the example is long"
    export LD_LIBRARY_PATH=${library%/*}
    ./example '{"device":"tpu","store":false,"x":1}' '{}' 2>err && fail "unknown options are accepted"
    grep -q '"what":"x: unknown key"' err || fail "$(cat err)"
    cat >judge.py <<'END'
import ctypes, json, sys, threading
lib = ctypes.CDLL("libkforge.so.0")
for name in ("open", "judge", "extract", "reward"):
    getattr(lib, "kforge_" + name).restype = ctypes.c_void_p
lib.kforge_free.argtypes = lib.kforge_close.argtypes = [ctypes.c_void_p]


def call(name, request):
    text = getattr(lib, "kforge_" + name)(ctypes.c_void_p(handle), json.dumps(request).encode())
    answer = json.loads(ctypes.string_at(text))
    lib.kforge_free(text)
    return answer


options = {"workers": [sys.argv[1]], "store": "library.db"}
handle = lib.kforge_open(json.dumps(options).encode(), None)
assert handle
block = "```cuda\n// fake: speed %s\nextern \"C\" void axpy(const float *x) { int %s; }\n```\nUse it.\n"
answers = {}
threads = [threading.Thread(target=lambda n=n: answers.update({n: call("judge", {"task": "axpy", "reply": block % (1 + n / 4, "x%d" % n), "reward": "kevin"})})) for n in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
for n, answer in answers.items():
    assert answer["status"] == "correct" and abs(answer["speedup"]["value"] - 1 - n / 4) < 1e-9, answer
    assert answer["next"] and answer["summary"], answer
assert len(answers) == 4 and abs(answers[2]["reward"] - 1.8) < 1e-9, answers
again = call("judge", {"task": "axpy", "reply": block % (1.5, "x2")})
assert again["cached"] and again["candidate"] == answers[2]["candidate"] and again["reward"] is None, again
assert call("reward", {"answer": again, "reward": "kevin"}) == {"scorable": True, "reward": answers[2]["reward"]}
assert call("reward", {"answer": dict(again, blame="machine", status="interference"), "reward": "kevin"}) == {"scorable": False, "reward": None}
assert call("reward", {"answer": {"status": "no_source"}, "shape": {"no_source": -0.5}})["reward"] == -0.5
assert call("reward", {"answer": dict(again, speedup=None), "reward": "speedup"}) == {"scorable": False, "reward": None}
assert call("reward", {"answer": again})["error"]["status"] == 400
assert call("extract", {"task": "axpy", "reply": block % (1, "x")})["source"].startswith("// fake: speed 1\n")
assert call("extract", {"task": "axpy", "reply": "no"})["error"]["status"] == 422
assert call("judge", {"task": "axpy", "reply": "no"})["status"] == "no_source"
assert call("judge", {"task": "nonesuch", "source": "int a;"})["error"]["status"] == 404
assert call("judge", {"task": "axpy"})["error"]["status"] == 400
assert call("judge", [1])["error"]["status"] == 400
assert call("judge", {"task": "axpy", "source": "// fake: sleep 30\nint a;", "deadline_s": 0.2})["error"]["status"] == 504
lib.kforge_close(handle)
END
    python3 judge.py "$bin/../tests/fake_worker" >err 2>&1 || fail "$(tail -5 err)"
    # with the judge itself, which the library finds in its own installation
    python3 -c 'import json, sys; print(json.dumps({"task": "axpy", "mode": "check", "reply": "```cuda\n" + open(sys.argv[1]).read() + "```\n"}))' "$work/moved/share/kforge/tasks/axpy/baseline.cu" >request
    ./example '{"device":"cpu","workers":["local"],"store":false}' "$(cat request)" >answer || fail "the example: $(cat answer)"
    grep -q '"status":"correct"' answer || fail "$(cat answer)"
    unset LD_LIBRARY_PATH
fi

# The tarball.
if [ "$part" != all ]; then
    finish
    exit
fi
cpack --config "$bin/../CPackConfig.cmake" -G TGZ -B "$work/packages" >log 2>&1 || { cat log >&2; exit 1; }
mkdir unpacked && tar -xzf packages/kforge-*.tar.gz -C unpacked --strip-components=1 || fail "no tarball"
program=$work/unpacked/bin/kforge
expect 0 task show row_softmax
says "unpacked/share/kforge/tasks/row_softmax"
finish
