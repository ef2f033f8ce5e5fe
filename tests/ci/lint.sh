# ./run lint: the layout of the sources and what static analysis finds. Sourced by ./run and by all.sh (which keeps the sums).
lint_check() {
    local name=$1 started=$SECONDS log
    shift
    log=$(mktemp)
    if "$@" >"$log" 2>&1; then
        passed=$((${passed:-0} + 1))
        printf 'lint.%s: passed (%d s)\n' "$name" $((SECONDS - started))
    else
        failed=$((${failed:-0} + 1))
        failures+=("lint.$name")
        cat "$log"
        printf 'lint.%s: failed (%d s)\n' "$name" $((SECONDS - started))
    fi
    rm -f "$log"
}

# Sources that people write; the CPU device's headers follow the layout of the CUDA headers that they stand in for.
lint_sources() {
    git -C "$root" ls-files '*.c' '*.h' '*.cpp' | grep -v '^evaluator/cpu/include/'
}

lint_format() {
    (cd "$root" && lint_sources | xargs clang-format-14 --dry-run -Werror)
}

lint_cppcheck() {
    (cd "$root" && git ls-files '*.c' '*.cpp' | grep -v '^tests/' |
        xargs cppcheck -j "$jobs" --quiet --error-exitcode=1 --std=c11 --std=c++17 --enable=warning,performance,portability --inline-suppr \
            --suppressions-list=tests/ci/cppcheck.txt -D_GNU_SOURCE -DKFORGE_VERSION='""' -I include -I evaluator/cpu -I evaluator/cpu/include)
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

lint_check format lint_format
lint_check cppcheck lint_cppcheck
lint_check shell lint_shell
lint_check links lint_links
[ -n "${stages+x}" ] || exit $((${failed:-0} > 0))
