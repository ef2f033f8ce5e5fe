# ./run test: everything that has to hold, in the order in which it is likely to fail. Sourced by ./run.
#
#   lint          tests/ci/lint.sh
#   release       all tests, several at a time but for those that measure time
#   asan          unit and command-line tests once more with AddressSanitizer and UndefinedBehaviorSanitizer, but for those below
#   tsan          those with threads once more with ThreadSanitizer
#   fuzz          each libFuzzer target for KFORGE_FUZZ_SECONDS (20), two a processor, starting from tests/fuzz/corpus
#
# Beside the tests of asan, with what those leave of the processors, what tsan and fuzz need is built; what measures time has release for that.
#
# The closing line is ctest's, for the sum of all stages. `./run test STAGE…` runs some of them.
# Settings of kforge that the caller's environment may hold are none of the tests' business.
fuzz_seconds=${KFORGE_FUZZ_SECONDS:-20}
for variable in "${!KFORGE_@}"; do unset "$variable"; done
stages=("$@")
[ ${#stages[@]} -gt 0 ] || stages=(lint release asan tsan fuzz)
# Other programs' time: compilers', the candidates', PyTorch's (cli.torch and cli.import run with sanitizers, too; what a problem is measured to be is Python); and the same searches again and again, of which unit.search has some.
asan_leaves_out='unit\.tasks_run\..*|unit\.search_resume|unit\.torch(_extensions|_timed|_dry_run)?|cli\.(datasets|import_measured|import_judge|export_modelnew|kernelbench)'
passed=0 failed=0 seconds_before=$SECONDS
failures=() reasons=()
output=$(mktemp)
ahead='' # the process group that builds for stages to come
trap 'rm -f "$output"; [ -z "$ahead" ] || kill -- "-$ahead" 2>/dev/null || true' EXIT

# Runs ctest in build/PRESET and adds what its closing line says to the sums.
run_ctest() {
    local preset=$1 started=$SECONDS status=0 line name reason
    shift
    ctest --test-dir "$root/build/$preset" --no-tests=error --output-on-failure -j "$jobs" "$@" >"$output" 2>&1 || status=$?
    line=$(grep -E '^[0-9]+% tests passed, [0-9]+ tests? failed out of [0-9]+' "$output" | tail -n 1)
    if [[ $line =~ passed,\ ([0-9]+)\ tests?\ failed\ out\ of\ ([0-9]+) ]]; then
        failed=$((failed + BASH_REMATCH[1]))
        passed=$((passed + BASH_REMATCH[2] - BASH_REMATCH[1]))
        [ "$status" = 0 ] || [ "${BASH_REMATCH[1]}" != 0 ] || { failed=$((failed + 1)); failures+=("$preset: ctest returned $status"); }
    else
        failed=$((failed + 1))
        failures+=("$preset: ctest did not finish")
    fi
    if [ $status != 0 ]; then
        cat "$output"
        while read -r reason; do reasons+=("$preset: ${reason:0:400}"); done < <(grep -E '^line [0-9]+: |^\[ +(ERROR|LINE) +\]|\*\*\*' "$output" | head -n 20)
        while read -r name; do failures+=("$preset: $name"); done < <(sed -n '/^The following tests FAILED/,$p' "$output" | sed -n 's/^[[:space:]]*[0-9]* - \([^ ]*\).*/\1/p')
    fi
    printf '%s: %s (%d s)\n' "$preset" "${line:-no result}" $((SECONDS - started))
    grep -E '^[[:space:]]*[0-9]+ - .*\((Skipped|Not Run|Disabled)\)' "$output" || true
}

# Configures and builds a stage's folder.
build_stage() {
    local target=all options=()
    case $1 in
    release) options=(-DKFORGE_TESTS=ON) ;;
    tsan) target=thread_tests ;;
    fuzz) target=fuzz_programs ;;
    esac
    configure "$1" "${options[@]}"
    make_targets "$root/build/$1" "$target"
}

# In the background, and of these stages those that were asked for. What goes wrong is told when it is their turn.
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

# Waits for the latter first.
build_now() {
    if [ -n "$ahead" ]; then wait "$ahead" || true; fi
    ahead=''
    build_stage "$1"
    printf '%s: built (%d s)\n' "$1" $((SECONDS - started))
}

for stage in "${stages[@]}"; do
    started=$SECONDS
    case $stage in
    lint)
        source "$root/tests/ci/lint.sh"
        ;;
    release)
        build_now release
        run_ctest release
        ;;
    asan)
        build_now asan
        build_ahead tsan fuzz
        UBSAN_OPTIONS=print_stacktrace=1 run_ctest asan -R '^(unit|cli)\.' -E "^($asan_leaves_out)\$"
        ;;
    tsan)
        build_now tsan
        # A child of a raw clone has ThreadSanitizer's own locks as they were; when another thread held one it waits for ever. That is tried again.
        TSAN_OPTIONS="halt_on_error=1 atexit_sleep_ms=0" run_ctest tsan -L threads --repeat after-timeout:3
        ;;
    fuzz)
        build_now fuzz
        KFORGE_FUZZ_SECONDS=$fuzz_seconds run_ctest fuzz -L fuzz -j $((2 * jobs))
        ;;
    *)
        say "unknown stage $stage; there are lint, release, asan, tsan, fuzz"
        exit 2
        ;;
    esac
done

total=$((passed + failed))
printf '\n'
[ ${#failures[@]} = 0 ] || printf 'failed: %s\n' "${failures[@]}"
[ ${#reasons[@]} = 0 ] || printf '%s\n' "${reasons[@]}"
[ $total -gt 0 ] || { say "nothing was tested"; exit 1; }
printf '%d%% tests passed, %d tests failed out of %d (%d s)\n' $((100 * passed / total)) $failed $total $((SECONDS - seconds_before))
[ $failed = 0 ]
