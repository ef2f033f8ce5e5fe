#!/bin/bash
# adapters.sh BIN NAME [SCRIPT ARGUMENT…]: runs adapter_NAME.py, or a script, with the real package in
# a virtual environment.
#
# The environments stay in ~/.cache/kforge/adapters, outside of the sources and of the build. Status
# 77 means that the test was skipped: no network, no fitting Python, or an installation that takes
# over 3 minutes.
set -u
bin=$1 name=$2
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/kforge/adapters
limit=180

skip() {
    echo "skipped: $*"
    exit 77
}

# The oldest Python, the first one that is too new, and the packages
case $name in
trl) need=(3.11 3.15 trl==1.16.0 torch jmespath) ;;
verl) need=(3.11 3.13 verl==0.9.1 torch) ;;
verifiers) need=(3.11 3.15 verifiers==0.4.0) ;;
skyrl) need=(3.10 3.15 skyrl-gym==0.4.0) ;;
openenv) need=(3.10 3.15 openenv==0.10.0) ;;
nemo_gym) need=(3.13 3.15 nemo-gym==0.7.0) ;;
harbor) need=(3.12 3.15 harbor==0.26.0) ;;
*) echo "adapters.sh: no adapter $name" && exit 2 ;;
esac

fits='import sys; low, high = (tuple(map(int, v.split("."))) for v in sys.argv[1:])
sys.exit(not low <= sys.version_info[:2] < high)'
pythons=(python3 python3.{14,13,12,11,10} "${PYENV_ROOT:-$HOME/.pyenv}"/versions/*/bin/python3)
for python in "${pythons[@]}"; do
    "$python" -c "$fits" "${need[@]:0:2}" 2>/dev/null && break
    python=
done
[ -n "$python" ] || skip "no Python from ${need[0]} to before ${need[1]}"

mkdir -p "$cache" || skip "no folder $cache"
exec 9>"$cache/lock"
flock 9
# uv installs quickly, and its environments share their files.
certificates=/etc/ssl/certs/ca-certificates.crt
[ ! -e $certificates ] || export SSL_CERT_FILE=${SSL_CERT_FILE:-$certificates}
index=$(python3 -m pip config get global.index-url 2>/dev/null) &&
    export UV_DEFAULT_INDEX=${UV_DEFAULT_INDEX:-$index}
export UV_CACHE_DIR=$cache/uv-cache UV_PYTHON_DOWNLOADS=never UV_HTTP_TIMEOUT=20
uv=$cache/uv/bin/uv
if ! "$uv" --version >/dev/null 2>&1; then
    rm -rf "$cache/uv"
    python3 -m venv "$cache/uv" >/dev/null 2>&1 &&
        timeout $limit "$cache/uv/bin/pip" install -q --retries 1 --timeout 20 uv \
            >"$cache/log" 2>&1 ||
        skip "uv can't be installed from PyPI: $(tail -1 "$cache/log" 2>/dev/null)"
fi
venv=$cache/$name
wanted="$("$python" -V) ${need[*]}"
if [ "$(cat "$venv/ready" 2>/dev/null)" != "$wanted" ]; then
    rm -rf "$venv"
    words=(--python "$venv/bin/python")
    # NeMo-Gym wants a later patch of 3.13 than many machines have. It runs with all of them.
    [ "$name" != nemo_gym ] || words+=(--python-version 3.13.14)
    "$uv" venv -q --python "$(command -v "$python")" "$venv" >"$cache/log" 2>&1 &&
        timeout $limit "$uv" pip install -q "${words[@]}" "${need[@]:2}" >>"$cache/log" 2>&1 ||
        skip "$name can't be installed from PyPI in $limit s: $(tail -1 "$cache/log")"
    echo "$wanted" >"$venv/ready"
fi
# The package as a user installs it. Building would write into the sources.
rm -rf "$cache/python"
cp -r "$root/python" "$cache/python"
"$uv" pip install -q --python "$venv/bin/python" --no-deps --reinstall "$cache/python" \
    >"$cache/log" 2>&1 || { echo "pip install ./python: $(cat "$cache/log")"; exit 1; }
flock -u 9

for variable in $(env | sed -n 's/^\(KFORGE_[A-Z_]*\)=.*/\1/p'); do unset "$variable"; done
export JUDGE_BIN=$bin PYTHONDONTWRITEBYTECODE=1
[ $# -gt 2 ] || set -- "$bin" "$name" "$root/tests/python/adapter_$name.py"
exec timeout 500 "$venv/bin/python" "${@:3}"
