#!/bin/sh
# usage: run.sh KFORGE-CPUCC FILE.cu    compiles a conformance test for the CPU device and runs it; status 0 when all is as expected.
# Comments in the file say what is expected (defaults in brackets):
#   // cpu-test: flags FLAGS…     for the compiler [--exe]
#   // cpu-test: compile STATUS   the compiler's exit status [0]; anything else ends the test there
#   // cpu-test: exit STATUS      the program's exit status [0]; "fails": anything but 0
#   // cpu-test: output REGEX     a line that compiler or program must write; may be given several times
set -u
compiler=$1 source=$2
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
setting() { sed -n "s|^// cpu-test: $1 ||p" "$source"; }
flags=$(setting flags)
wanted_compile=$(setting compile)
wanted_exit=$(setting exit)
"$compiler" ${flags:---exe} -I "$(dirname "$source")" -o "$folder/program" "$source" >"$folder/output" 2>&1
status=$?
if [ "$status" -ne "${wanted_compile:-0}" ]; then
    cat "$folder/output"
    echo "FAILED: the compiler ended with $status instead of ${wanted_compile:-0}"
    exit 1
fi
if [ "$status" -eq 0 ]; then
    "$folder/program" >>"$folder/output" 2>&1
    status=$?
    good=no
    if [ "${wanted_exit:-0}" = fails ]; then
        [ "$status" -ne 0 ] && good=yes
    else
        [ "$status" -eq "${wanted_exit:-0}" ] && good=yes
    fi
    if [ $good = no ]; then
        cat "$folder/output"
        echo "FAILED: the program ended with $status instead of ${wanted_exit:-0}"
        exit 1
    fi
fi
setting output | while IFS= read -r pattern; do
    if ! grep -q -e "$pattern" "$folder/output"; then
        cat "$folder/output"
        echo "FAILED: nothing in the output matches: $pattern"
        exit 1
    fi
done
