#!/bin/bash
# Completions as the shells call them: bash's function with COMP_WORDS set, zsh's function with its
# builtins replaced by functions that print.
source "$(dirname "$0")/lib.sh"
PATH=$bin:$PATH

expect 0 help --completion bash
cp out kforge.bash
mkdir -p tasks/one tasks/two folder && touch tasks/one/task.json tasks/two/task.json file.cu
run=$("$bin/../tests/make_store" "$KFORGE_STORE" "$root/tasks/axpy") || fail make_store

# completes EXPECTED WORD…: checks the offers of TAB after the last word (sorted, one blank
# between).
in_bash() {
    local expected=$1 got
    shift
    got=$(bash --norc -c 'source ./kforge.bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _kforge; printf "%s\n" "${COMPREPLY[@]}"' - "$@" | sort -u | tr '\n' ' ')
    case "$got" in
    "$expected ") ;;
    *) [ "${expected%\*}" != "$expected" ] && [[ "$got" == *"${expected%\*}"* ]] || fail "bash: $*: got \"$got\", expected \"$expected\"" ;;
    esac
}
bash -n kforge.bash || fail "syntax"
in_bash "list" kforge li
in_bash "doctor*" kforge ""
in_bash "--help bundle lint new show" kforge task ""
in_bash "lint" kforge task li
in_bash "--json" kforge list --js
in_bash "--task --tasks" kforge list --t
in_bash "bash zsh" kforge help --completion ""
in_bash "zsh" kforge help --completion = z
in_bash "bash zsh" kforge help --completion =
in_bash "list" kforge help li
in_bash "lint" kforge help task li
in_bash "$run latest" kforge show ""
in_bash "latest" kforge show lat
in_bash "tasks/one tasks/two" kforge task lint ""
in_bash "tasks/two" kforge task show tasks/tw
in_bash "file.cu" kforge list --store file
in_bash "--resume" kforge bench --resu
in_bash "--json" kforge bench compare --js
in_bash "folder" kforge bench fol
in_bash "folder" kforge task new fol
in_bash "" kforge list --limit ""
[ "$(bash --norc -c 'source ./kforge.bash; complete -p kforge')" = "complete -o filenames -F _kforge kforge" ] || fail "not registered"

expect 0 help --completion zsh
cp out _kforge
command -v zsh >/dev/null || finish
command -v zsh >/dev/null || exit 0
in_zsh() {
    local expected=$1 got
    shift
    got=$(zsh -f -c 'compdef() { : }; compset() { : }; _files() { echo FILES }; compadd() { shift; print -l -- "$@" }
                     source ./_kforge; words=("$@"); CURRENT=$#; _kforge' - "$@" | sort -u | tr '\n' ' ')
    [ "$got" = "$expected " ] || [ "$got$expected" = "" ] || { [ "${expected%\*}" != "$expected" ] && [[ "$got" == *"${expected%\*}"* ]]; } ||
        fail "zsh: $*: got \"$got\", expected \"$expected\""
}
zsh -n _kforge || fail "zsh syntax"
in_zsh "list*" kforge ""
in_zsh "--help bundle lint new show" kforge task ""
in_zsh "--json*" kforge list --
in_zsh "bash zsh" kforge help --completion ""
in_zsh "bash zsh" kforge help --completion=
in_zsh "doctor*" kforge help ""
in_zsh "$run latest" kforge show ""
in_zsh "tasks/one tasks/two" kforge task lint ""
in_zsh "FILES" kforge list --store ""
in_zsh "" kforge list --limit ""
finish
