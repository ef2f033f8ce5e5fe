#!/bin/bash
# ./run and packages that are missing: root gets them installed and is told which; without root the command that does is printed.
# The tools that it asks are played by scripts, so that nothing is installed here.
source "$(dirname "$0")/lib.sh"
mkdir tools tree
cp "$root/run" tree/run
play() { printf '#!/bin/sh\n%s\n' "$2" >"tools/$1" && chmod +x "tools/$1"; }
play dpkg-query 'for name; do :; done; [ "$name" = cmake ] && echo "install ok installed"; exit 0'
play apt-get "echo \"\$*\" >>$work/apt.log"
play sudo 'exit 1'
play cmake 'echo no CMakeLists.txt; exit 1'
try() { # STATUS
    PATH=$work/tools:$PATH tree/run build >out 2>err
    local status=$?
    err=$(cat err)
    [ $status = "$1" ] || fail "status $status instead of $1: $err"
}

play id 'echo 1000'
try 3
case $err in "kforge: missing packages; install them with: sudo apt-get install --no-install-recommends gcc g++ ninja-build "*) ;; *) fail "no command: $err" ;; esac
case " $err " in *" cmake "*) fail "asks for what is there: $err" ;; esac
[ ! -e apt.log ] || fail "apt-get was called without root: $(cat apt.log)"

play id 'echo 0'
try 3 # there is nothing to build
case $err in "kforge: installing gcc g++ ninja-build "*"cmake failed"*) ;; *) fail "does not say what it installs: $err" ;; esac
grep -q '^update' apt.log || fail "no update: $(cat apt.log)"
grep -q '^install -qq -y --no-install-recommends gcc g++ ninja-build ' apt.log || fail "not installed: $(cat apt.log)"

play apt-get 'echo no such package; exit 100'
try 3
case $err in *"no such package"*"the packages could not be installed; install them with: apt-get install --no-install-recommends gcc g++ "*) ;; *) fail "$err" ;; esac

# With sudo that asks for no password
play id 'echo 1000'
play sudo '[ "$1" = -n ] && shift; [ "$1" = true ] && exit 0; echo "sudo $*" >>'"$work"'/apt.log; exit 0'
rm apt.log
try 3
grep -q '^sudo env DEBIAN_FRONTEND=noninteractive apt-get install ' apt.log || fail "not through sudo: $(cat apt.log)"
finish
