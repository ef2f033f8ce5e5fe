# ./run benchmarks [NAME…] [OPTION…]: runs the benchmarks one after the other. Each prints one line for
# each figure. The first argument with a dash and all later ones go to each benchmark (./run benchmarks
# tasks --time 30). Sourced by ./run.
names=() options=()
while [ $# -gt 0 ] && [ "${1#-}" = "$1" ]; do
    names+=("$1")
    shift
done
options=("$@")
if [ ${#names[@]} = 0 ]; then
    for program in "$root"/build/release/bench/bench_*; do names+=("$(basename "$program" | sed 's/^bench_//')"); done
    for program in "$root"/tests/bench/bench_*.sh; do names+=("$(basename "$program" .sh | sed 's/^bench_//')"); done
fi
status=0
for name in "${names[@]}"; do
    if [ -x "$root/build/release/bench/bench_$name" ]; then
        "$root/build/release/bench/bench_$name" "${options[@]}" || status=1
    elif [ -f "$root/tests/bench/bench_$name.sh" ]; then
        "$root/tests/bench/bench_$name.sh" "$root/build/release/bin/kforge-$name" "${options[@]}" || status=1
    else
        say "there is no benchmark $name in tests/bench"
        exit 2
    fi
done
exit $status
