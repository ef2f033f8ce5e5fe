# ./run test [STAGE… | NAME…]: the tests, in tiers (tests/README.md). Sourced by ./run.
#
#   ./run test             the gate: the stages lint, release, asan
#   ./run test full        the gate and the rest; a stage that has passed on the same files is not run again
#   ./run test STAGE…      these stages
#   ./run test NAME…       the tests of the release build that match one of these regular expressions
#   ./run test NAME/CASE   of a unit program only the cases that match CASE (tests/unit/test_main.h)
#
#   lint          tests/ci/lint.sh
#   release       units, command line and corpus, but for what is in the second tier
#   asan          the units of the first tier once more with AddressSanitizer and UndefinedBehaviorSanitizer
#   release-full  the second tier: PyTorch, what measures time, stress, real servers
#   asan-full     the command line and a part of the corpus with sanitizers
#   tsan          tests with threads once more with ThreadSanitizer
#   packages      adapters, exports and clients in the real packages from PyPI: several GB, cached
#   fuzz          each libFuzzer target for KFORGE_FUZZ_SECONDS (20), two a processor, starting from tests/fuzz/corpus
#
# While tests run that do not measure time, idle CPUs build the next stages. The last line is
# ctest's, for the sum of all stages. Settings of kforge in the caller's environment do not reach
# the tests.
fuzz_seconds=${KFORGE_FUZZ_SECONDS:-20}
with_packages=${KFORGE_TEST_PACKAGES:-1} # 0: without the stage packages
for variable in "${!KFORGE_@}"; do
    [ "$variable" = KFORGE_TEST_PYTHON ] || unset "$variable" # cli.models_real
done
gate_stages=(lint release asan)
full_stages=(release-full asan-full tsan fuzz)
if [ "$with_packages" = 0 ]; then
    say "the stage packages is left out (KFORGE_TEST_PACKAGES=0)"
else
    full_stages+=(packages)
fi
results=$root/build/tests # one file a stage that has passed: the key of the files, how many tests, seconds
passed=0 failed=0 seconds=0
failures=() reasons=()
output=$(mktemp)
ahead='' # the process group that builds for stages to come
trap 'rm -f "$output"; [ -z "$ahead" ] || kill -- "-$ahead" 2>/dev/null || true' EXIT

# Prints a key of all that a stage's result depends on: the files, with git those that it knows or would add, and the packages installed.
files_key() {
    {
        (
            cd "$root"
            if git rev-parse --git-dir >/dev/null 2>&1; then
                git ls-files -z --cached --others --exclude-standard
            else
                find . \( -path './build*' -o -name .git -o -name __pycache__ \) -prune -o -type f -print0
            fi | LC_ALL=C sort -zu | xargs -0 sh -c 'stat -c "%a %n" "$@"; sha256sum "$@"' sh
        ) 2>/dev/null || true # a file that was removed
        dpkg-query -W 2>/dev/null || cc --version
        uname -r
        echo "$fuzz_seconds"
    } | sha256sum | cut -d ' ' -f 1
}

# Runs ctest in build/PRESET and adds what its closing line says to the sums.
run_ctest() {
    local stage=$1 preset=$2 started=$SECONDS status=0 line name reason
    shift 2
    ctest --test-dir "$root/build/$preset" --no-tests=error --output-on-failure "$@" >"$output" 2>&1 || status=$?
    line=$(grep -E '^[0-9]+% tests passed, [0-9]+ tests? failed out of [0-9]+' "$output" | tail -n 1)
    if [[ $line =~ passed,\ ([0-9]+)\ tests?\ failed\ out\ of\ ([0-9]+) ]]; then
        failed=$((failed + BASH_REMATCH[1]))
        passed=$((passed + BASH_REMATCH[2] - BASH_REMATCH[1]))
        [ "$status" = 0 ] || [ "${BASH_REMATCH[1]}" != 0 ] || { failed=$((failed + 1)); failures+=("$stage: ctest returned $status"); }
    else
        failed=$((failed + 1))
        failures+=("$stage: ctest did not finish")
    fi
    if [ $status != 0 ]; then
        cat "$output"
        while read -r reason; do reasons+=("$stage: ${reason:0:400}"); done < <(grep -E '^line [0-9]+: |^\[ +(ERROR|LINE) +\]|\*\*\*' "$output" | head -n 20)
        while read -r name; do failures+=("$stage: $name"); done < <(sed -n '/^The following tests FAILED/,$p' "$output" | sed -n 's/^[[:space:]]*[0-9]* - \([^ ]*\).*/\1/p')
    fi
    printf '%s: %s (%d s)\n' "$stage" "${line:-no result}" $((SECONDS - started))
    grep -E '^[[:space:]]*[0-9]+ - .*\((Skipped|Not Run|Disabled)\)' "$output" || true
}

# Configures and builds a stage's folder.
build_stage() {
    local preset=${1%-full} targets=(all) options=()
    case $1 in
    lint) return 0 ;;
    release) options=(-DKFORGE_TESTS=ON) ;;
    release-full | packages) preset=release options=(-DKFORGE_TESTS=ON) targets+=(benches) ;;
    tsan) targets=(thread_tests) ;;
    fuzz) targets=(fuzz_programs) ;;
    esac
    configure "$preset" "${options[@]}"
    make_targets "$root/build/$preset" "${targets[@]}"
}

# Builds those of the given stages that are still to come, in the background. Errors are reported
# once the stage runs.
build_ahead() {
    local stage
    set -m # a process group that can be ended
    (
        set +m
        renice -n 19 -p "$BASHPID"
        for stage in "$@"; do
            [[ " ${stages[*]} " != *" $stage "* ]] || build_stage "$stage"
        done
    ) >/dev/null 2>&1 &
    ahead=$!
    set +m
}

# Ends the latter first, since at that priority other programs hardly let it go on. What it has
# compiled stays.
build_now() {
    local started=$SECONDS
    if [ -n "$ahead" ]; then
        kill -- "-$ahead" 2>/dev/null || true
        wait "$ahead" 2>/dev/null || true
    fi
    ahead=''
    build_stage "$1"
    printf '%s: built (%d s)\n' "$1" $((SECONDS - started))
}

# The tests of the first stages do not measure time. Many of them wait, so that several share a processor.
run_stage() {
    case $1 in
    lint)
        source "$root/tests/ci/lint.sh"
        ;;
    release)
        build_now release
        build_ahead asan
        run_ctest release release -j $((3 * jobs)) -L '^gate$'
        ;;
    asan)
        build_now asan
        UBSAN_OPTIONS=print_stacktrace=1 run_ctest asan asan -j $((3 * jobs)) -L '^gate$'
        ;;
    release-full)
        build_now release-full
        run_ctest release-full release -j $((3 * jobs)) -L '^full$'
        ;;
    asan-full)
        build_now asan-full
        build_ahead tsan fuzz
        UBSAN_OPTIONS=print_stacktrace=1 run_ctest asan-full asan -j $((3 * jobs)) -L '^full$'
        ;;
    packages)
        build_now packages
        run_ctest packages release -j 1 -L '^pypi$'
        ;;
    tsan)
        build_now tsan
        # A child of a raw clone inherits ThreadSanitizer's own locks. If another thread held one,
        # the child waits for ever. Such a test runs again.
        TSAN_OPTIONS="halt_on_error=1 atexit_sleep_ms=0" run_ctest tsan tsan -j "$jobs" -L '^threads$' --repeat after-timeout:3
        ;;
    fuzz)
        build_now fuzz
        KFORGE_FUZZ_SECONDS=$fuzz_seconds run_ctest fuzz fuzz -j $((2 * jobs)) -L '^fuzz$'
        ;;
    *)
        say "unknown stage $1; there are ${gate_stages[*]} ${full_stages[*]}"
        exit 2
        ;;
    esac
}

# True if the stage has passed on these files. Then counts its tests.
has_passed() {
    local key tests took
    read -r key tests took 2>/dev/null <"$results/$1" || return 1
    [ "$key" = "$2" ] || return 1
    passed=$((passed + tests))
    seconds=$((seconds + took))
    printf '%s: %d tests have passed on these files\n' "$1" "$tests"
}

# run_stages skip|all: all of $stages, or those that have not passed yet.
run_stages() {
    local key stage started passed_before failed_before
    key=$(files_key)
    mkdir -p "$results"
    for stage in "${stages[@]}"; do
        [ "$1" != skip ] || ! has_passed "$stage" "$key" || continue
        rm -f "$results/$stage"
        started=$SECONDS passed_before=$passed failed_before=$failed
        run_stage "$stage"
        seconds=$((seconds + SECONDS - started))
        [ $failed = $failed_before ] && [ "$(files_key)" = "$key" ] || continue
        echo "$key $((passed - passed_before)) $((SECONDS - started))" >"$results/$stage"
    done
    local total=$((passed + failed))
    printf '\n'
    [ ${#failures[@]} = 0 ] || printf 'failed: %s\n' "${failures[@]}"
    [ ${#reasons[@]} = 0 ] || printf '%s\n' "${reasons[@]}"
    [ $total -gt 0 ] || { say "nothing was tested"; exit 1; }
    printf '%d%% tests passed, %d tests failed out of %d (%d s)\n' $((100 * passed / total)) $failed $total $seconds
    [ $failed = 0 ]
}

# Prints what has to be built for the tests named on stdin.
targets_of() {
    local name
    while read -r name; do
        case $name in
        unit.*) name=${name#unit.}; echo "tests/test_${name%%.*}" ;;
        corpus.torch*) echo tests/test_torch_files ;;
        cli.gpu) echo test_helpers gpu_check ;;
        cli.*) echo test_helpers ;;
        esac
    done | tr ' ' '\n' | sort -u
}

# The tests of the release build that the arguments name: a whole name, or else what matches it as a regular expression.
run_named() {
    local argument name names pattern='' cases='' chosen targets
    configure release -DKFORGE_TESTS=ON
    make_targets "$build" build.ninja
    names=$(ctest --test-dir "$build" -N | sed -n 's/^ *Test *#[0-9]*: //p')
    for argument in "$@"; do
        name=${argument%%/*}
        case $argument in */*) cases+=" ${argument#*/}" ;; esac
        if grep -qxF -- "$name" <<<"$names"; then name="^${name//./\\.}\$"; fi
        pattern+="${pattern:+|}$name"
    done
    chosen=$(grep -E -- "$pattern" <<<"$names") || { say "no test matches $pattern; ctest --test-dir ${build#"$root"/} -N lists them"; exit 2; }
    mapfile -t targets < <(targets_of <<<"$chosen")
    make_targets "$build" agent/all evaluator/all sandbox/all store/all "${targets[@]}"
    if [ -n "$cases" ]; then export KFORGE_TEST_CASES="${cases# }"; fi
    ctest --test-dir "$build" --output-on-failure -j "$jobs" -R "$pattern"
}

case " ${gate_stages[*]} ${full_stages[*]} full " in
*" ${1:-lint} "*)
    # A stage, which needs all packages. The tests of PyTorch and of Slurm run if the distribution
    # has them. Otherwise they report that they are skipped.
    stages=("$@")
    [ $# != 0 ] || stages=("${gate_stages[@]}")
    [[ " $* " != *' full '* ]] || stages=("${gate_stages[@]}" "${full_stages[@]}")
    if [[ " ${stages[*]} " = *' release-full '* ]] && apt-cache show python3-torch >/dev/null 2>&1; then
        test_packages+=(python3-torch python3-setuptools python3-dev libtorch-dev pybind11-dev)
    fi
    if [[ " $* " = *' full '* ]] && apt-cache show slurm-wlm munge >/dev/null 2>&1; then
        test_packages+=(slurm-wlm munge)
    fi
    need "${build_packages[@]}" "${test_packages[@]}"
    if [[ " $* " = *' full '* ]]; then run_stages skip; else run_stages all; fi
    ;;
*)
    need "${build_packages[@]}" "${bench_packages[@]}"
    run_named "$@"
    ;;
esac
