#!/bin/bash
# docs/commands.md says what the program says; the man page is sound.
source "$(dirname "$0")/lib.sh"

expect 0 help --markdown
cmp -s out "$root/docs/commands.md" || fail "docs/commands.md is out of date; make it anew with: cmake --build BUILD --target docs"
expect 0 help --man
grep -q '^\.TH KFORGE 1' out || fail "no title"
for section in NAME SYNOPSIS COMMANDS SETTINGS ENVIRONMENT "EXIT STATUS"; do
    grep -q "^\.SH $section\$" out || fail "no section $section"
done
if command -v man >/dev/null; then
    MANWIDTH=80 man --warnings -E UTF-8 -l -Z out >/dev/null 2>warnings
    [ -s warnings ] && fail "$(cat warnings)"
    MANWIDTH=80 man -l out 2>/dev/null | col -bx >page
    grep -q 'kforge show \[OPTION' page || fail "the man page does not show: $(head -30 page)"
    grep -q -- '--limit=N' page || fail "options are lost"
fi
finish
