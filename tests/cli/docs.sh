#!/bin/bash
# docs/reference/commands.md says what the program says; the man page is sound.
source "$(dirname "$0")/lib.sh"

expect 0 help --markdown
cmp -s out "$root/docs/reference/commands.md" || fail "docs/reference/commands.md is out of date; make it anew with: cmake --build BUILD --target docs"

# Options of one name mean the same in every command; no letter stands for two.
python3 - <<'END' || fail "the option tables disagree"
import collections, re, sys
forms, bad = collections.defaultdict(set), False
for section in re.split(r"^## kforge ", open("out").read(), flags=re.M)[1:]:
    command, letters = section.split("\n")[0], []
    for letter, name, argument in re.findall(r"^\| `(?:-(.), )?--([a-z-]+)(=[^`]*)?` ", section, re.M):
        forms[name].add((letter, argument))
        letters.append(letter)
        if name == "help" or name.startswith("no-") or letter == "h":
            bad = True; print(command, name, "is taken", file=sys.stderr)
    twice = [l for l, n in collections.Counter(letters).items() if l and n > 1]
    if twice: bad = True; print(command, "letters", twice, file=sys.stderr)
settings = set(re.findall(r"^\| `([a-z-]+)` \| `KFORGE_", open("out").read(), re.M))
for name in settings:
    if len(forms[name]) != 1: bad = True; print(name, forms[name], file=sys.stderr)
sys.exit(bad or not settings)
END

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
