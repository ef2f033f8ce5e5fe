# ./run coverage: line coverage of each layer by gcov, over all tests. Sourced by ./run. Processes that are killed, and what runs in the
# sandbox (the compiler driver, the runner, the CPU device's runtime), leave no counters: the figures say what the rest covers.
configure coverage
make_targets "$root/build/coverage" all
find "$root/build/coverage" -name '*.gcda' -delete
ctest --test-dir "$root/build/coverage" -j "$jobs" -Q -E '^(cpu\.|unit\.tasks_run\.)' || say "some tests failed; see ./run test"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
# One line for each source file: its path, its executable lines, its executed lines. A header's line
# counts as executed if any including file executed it.
find "$root/build/coverage" -name '*.gcda' -print0 | xargs -0 -r gcov --json-format --stdout 2>/dev/null | python3 -c '
import collections, json, os, sys
root = sys.argv[1] + "/"
lines = collections.defaultdict(dict)
for text in sys.stdin:
    for file in json.loads(text)["files"]:
        path = os.path.normpath(os.path.join(root, file["file"]))
        if not path.startswith(root) or path.startswith(root + "build/"): continue
        of = lines[path[len(root):]]
        for line in file["lines"]: of[line["line_number"]] = of.get(line["line_number"], False) or line["count"] > 0
layers = collections.defaultdict(lambda: [0, 0])
for path, of in sorted(lines.items()):
    if path.startswith("tests/"): continue
    parts = path.split("/")
    layer = "/".join(parts[:2]) if parts[0] == "evaluator" else parts[0]
    for name in (layer, "all"):
        layers[name][0] += sum(of.values())
        layers[name][1] += len(of)
    if "--files" in sys.argv: print("%-48s %5.1f %%  %5d of %5d lines" % (path, 100 * sum(of.values()) / max(len(of), 1), sum(of.values()), len(of)))
for name, (ran, all_lines) in sorted(layers.items(), key=lambda item: (item[0] == "all", item[0])):
    print("%-20s %5.1f %%  %6d of %6d lines" % (name, 100 * ran / max(all_lines, 1), ran, all_lines))
' "$root" "$@"
