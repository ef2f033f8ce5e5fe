# The red team's folder: prepared, judged, and tabulated (tests/ci/redteam.sh).
source "$(dirname "$0")/lib.sh"
redteam() {
    bash "$root/tests/ci/redteam.sh" "$bin" team cpu >"$work/out" 2>"$work/err"
    status=$?
    out=$(cat "$work/out") err=$(cat "$work/err")
}

# Without a file, the folder has rules, tasks, interfaces and an empty table.
redteam
[ $status = 0 ] || fail "exit status $status with an empty corpus; $err"
says "0 attacks: 0 caught, 0 got through. 0 honest files: 0 accused."
for file in README.md results.md rules/trust.md rules/verdict-rules.md rules/task-format.md tasks/scale/task.json; do
    [ -s "team/$file" ] || fail "no team/$file"
done
[ -d team/attacks/scale ] || fail "no team/attacks/scale"
grep -q 'extern "C" void scale(const float \*x, float \*y, float a, int64_t n, cudaStream_t stream)' team/README.md ||
    fail "README.md does not show scale's prototype"

# An attack that is caught, an honest file, and a file for another device.
cp "$root/tests/hostile/scale/input_mutated.cu" team/attacks/scale/
cp "$root/tests/honest/scale/three_times_slower.cu" team/attacks/scale/
cp "$root/tests/honest/scale/texture_linear.cu" team/attacks/scale/
redteam
[ $status = 0 ] || fail "exit status $status; $out $err"
says "1 attacks: 1 caught, 0 got through. 1 honest files: 0 accused."
says "| scale/input_mutated.cu | cpu | contract_violation | \`input.mutated\` |  | caught |"
grep -Eq '^\| scale/three_times_slower.cu \| cpu \| correct \|  \| ([0-9.]+x)? \| honest \|$' team/results.md ||
    fail "no row of the honest file: $(cat team/results.md)"
! grep -q texture_linear team/results.md || fail "a file for a GPU was judged on the CPU device"

# A file that claims to be an attack and is judged correct got through. One that does not build is neither.
rm team/attacks/scale/*
printf '// Is no program.\n// rule: new\n// expect: crash runner.crashed\nx\n' >team/attacks/scale/no_program.cu
sed 's/^\/\/ expect: .*/\/\/ rule: new\n\/\/ expect: cheating output.late/' \
    "$root/tests/honest/scale/static_workspace.cu" >team/attacks/scale/claims.cu
redteam
[ $status = 1 ] || fail "exit status $status for an attack that got through; $out $err"
says "1 attacks: 0 caught, 1 got through. 0 honest files: 0 accused. 1 not judged."
says "| scale/no_program.cu | cpu | compile_error | \`build.failed\` |  | does not build |"
says "| got through |"
finish
