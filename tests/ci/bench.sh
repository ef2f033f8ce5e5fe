# ./run bench [NAME…]: the benchmarks that are built, one after the other; each prints one line a figure. Sourced by ./run.
names=("$@")
if [ ${#names[@]} = 0 ]; then
    for program in "$root"/build/release/bench/bench_*; do names+=("$(basename "$program" | sed 's/^bench_//')"); done
    for program in "$root"/tests/bench/bench_*.sh; do names+=("$(basename "$program" .sh | sed 's/^bench_//')"); done
fi
status=0
for name in "${names[@]}"; do
    if [ -x "$root/build/release/bench/bench_$name" ]; then
        "$root/build/release/bench/bench_$name" || status=1
    elif [ -f "$root/tests/bench/bench_$name.sh" ]; then
        "$root/tests/bench/bench_$name.sh" "$root/build/release/bin/kforge-$name" || status=1
    else
        say "there is no benchmark $name in tests/bench"
        exit 2
    fi
done
exit $status
