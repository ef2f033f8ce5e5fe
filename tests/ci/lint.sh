# ./run lint: the layout of the sources and what static analysis finds. Sourced by ./run and by test.sh (which keeps the sums).
# All checks run at once. lint_start begins one, lint_report waits for it and counts it.
lint_results=$(mktemp -d)
lint_start() {
    local name=$1
    shift
    (
        started=$SECONDS status=0
        "$@" >"$lint_results/$name.log" 2>&1 || status=1
        echo $((SECONDS - started)) >"$lint_results/$name.seconds"
        exit $status
    ) &
    lint_processes[$name]=$!
}

lint_report() {
    local name=$1 seconds word=passed
    wait "${lint_processes[$name]}" || word=failed
    seconds=$(cat "$lint_results/$name.seconds" 2>/dev/null) || word=failed
    if [ $word = passed ]; then
        passed=$((${passed:-0} + 1))
    else
        failed=$((${failed:-0} + 1))
        failures+=("lint.$name")
        cat "$lint_results/$name.log"
    fi
    printf 'lint.%s: %s (%s s)\n' "$name" $word "${seconds:-?}"
}

# Lists the sources to check. The CPU device's headers are left out: they follow the layout of the
# CUDA headers.
lint_sources() {
    git -C "$root" ls-files '*.c' '*.h' '*.cpp' | grep -v -e '^evaluator/cpu/include/' -e '^tests/formats/'
}

lint_format() {
    (cd "$root" && lint_sources | xargs clang-format-14 --dry-run -Werror)
}

# Over the compile commands of the release build, which needs no building for that.
lint_tidy() {
    local sources=(-p "$root/build/release" --quiet)
    configure release -DKFORGE_TESTS=ON
    ninja -C "$root/build/release" build.ninja >/dev/null # new files have compile commands, too
    (cd "$root" && git ls-files '*.c' | grep -v '^tests/' | xargs -P "$jobs" -n 4 clang-tidy-14 "${sources[@]}" &&
        git ls-files '*.cpp' | grep -v '^tests/' | xargs -P "$jobs" -n 4 clang-tidy-14 "${sources[@]}" --extra-arg=-std=gnu++17) 2>&1 |
        grep -vE '^[0-9]+ warnings? (generated|treated)|^Suppressed|^Use -header-filter'
    return "${PIPESTATUS[0]}"
}

# Shell scripts parse.
lint_shell() {
    local script status=0
    while read -r script; do
        bash -n "$root/$script" || status=1
    done < <(cd "$root" && { git ls-files '*.sh'; printf '%s\n' run .ci/run; })
    return $status
}

# Links between the documents lead somewhere.
lint_links() {
    local file target status=0
    while IFS=: read -r file target; do
        [ -e "$root/$(dirname "$file")/${target%%#*}" ] || { echo "$file: no such file: $target"; status=1; }
    done < <(cd "$root" && git grep -oE '\]\([^)# ]+(#[^)]*)?\)' -- '*.md' | sed -E 's/\]\(([^)]*)\)/\1/' | grep -vE ':(https?|mailto):' )
    return $status
}

# The agent prints only to the streams of agent/cli/terminal.h, which keep foreign control
# characters from a terminal.
lint_terminal() {
    local calls='puts|putchar|perror|vprintf|printf' escape='\\(033|x1b|e)\['
    ! git -C "$root" grep -nE "$escape|\b($calls)\(|\b(stdout|stderr)\b[,)]" -- \
        'agent/*.c' ':!agent/main.c' ':!agent/cli/terminal.c' ':!agent/export/package_test.c' ':!agent/library/example.c'
}

# Folders, circles, types and words (tests/ci/layers).
lint_layers() {
    "$root/tests/ci/layers"
}

declare -A lint_processes
lint_checks=(tidy layers format shell links terminal)
for check in "${lint_checks[@]}"; do lint_start "$check" "lint_$check"; done
for check in "${lint_checks[@]}"; do lint_report "$check"; done
rm -rf "$lint_results"
[ -n "${stages+x}" ] || exit $((${failed:-0} > 0))
