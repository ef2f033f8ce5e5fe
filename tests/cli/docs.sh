#!/bin/bash
# docs/reference/commands.md agrees with the program's help. The man page is valid.
source "$(dirname "$0")/lib.sh"

expect 0 help --markdown
cmp -s out "$root/docs/reference/commands.md" ||
    fail "docs/reference/commands.md is out of date; make it anew with: cmake --build BUILD --target docs"

# An option's name means the same in every command. No letter stands for two options.
python3 - <<'END' || fail "the option tables disagree"
import collections, re, sys
forms, bad, text = collections.defaultdict(set), False, open("out").read()
row = re.compile(r"^- `(?:-(.), )?--([a-z-]+)(=[^`]*)?`: ", re.M)
sections = dict(re.findall(r"^## (.*?)$(.*?)(?=^## |\Z)", text, re.S | re.M))
tables = {name: {found[1]: found for found in row.findall(body)} for name, body in sections.items()}
for command, body in sections.items():
    letters, options = [], row.findall(body)
    if not command.startswith("kforge "): continue
    for table, anchor, names in re.findall(r"^\[(.*)\]\(#(.*)\): (.*)$", body, re.M):
        title = next(name for name in sections if name.lower().replace(" ", "-") == anchor)
        options += [tables[title][name] for name in re.findall(r"--([a-z-]+)", names)]
    for letter, name, argument in options:
        forms[name].add((letter, argument))
        letters.append(letter)
        if name == "help" or name.startswith("no-") or letter == "h":
            bad = True; print(command, name, "is taken", file=sys.stderr)
    twice = [l for l, n in collections.Counter(letters).items() if l and n > 1]
    if twice: bad = True; print(command, "letters", twice, file=sys.stderr)
settings = set(re.findall(r"`([a-z-]+)`", re.search(r"^Settings: (.*)$", text, re.M).group(1)))
for name in settings:
    if len(forms[name]) != 1: bad = True; print(name, forms[name], file=sys.stderr)
sys.exit(bad or not settings)
END

# docs/reference has each rule and flag that the code can write, in order, and no other: those of
# verdicts and scans in verdict-rules.md, those of lint in task-format.md.
python3 - "$root" <<'END' || fail "docs/reference differs from the rules of the code"
import glob, re, sys
root, rules, lint, bad = sys.argv[1], set(), set(), []
no_rule = re.compile(r".*\.(h|cu|py|so|json)|(cpu|cutlass|os|self|torch)\..*|[0-9.]+|work\.flops")
sources = glob.glob(root + "/evaluator/**/*.[ch]", recursive=True)
for path in sources + glob.glob(root + "/include/kforge/*.h"):
    if path.startswith(root + "/evaluator/cpu/"): continue
    text = re.sub(r"/\*.*?\*/", "", open(path, encoding="utf-8").read(), flags=re.S)
    names = re.findall(r'"([a-z0-9]+\.[a-z0-9_]+)(?::[^"]*)?"', text)
    names += re.findall(r'kf_scan_add\(\w+, "(\w+)"', text)
    if "kf_scan_rule rules[]" in text: names += re.findall(r'\{"([a-z.]+)", "', text)
    if '"sanitizer.%s"' in text:
        names += ["sanitizer." + tool for tool in re.findall(r'\{"(\w+)", (?:true|false)\}', text)]
    names = [name for name in names if not no_rule.fullmatch(name)]
    (lint if "KF_LINT_" in text else rules).update(names)

def compare(page, sections, code):
    text, there = open(root + "/docs/reference/" + page, encoding="utf-8").read(), set()
    for section in sections:
        body = re.search(r"^## %s$(.*?)(?=^## |\Z)" % section, text, re.S | re.M).group(1)
        cells = re.findall(r"^\| (`[^|]*)|^- (`[^:]*):", re.sub(r"\n  ", " ", body), re.M)
        cells = [row or item for row, item in cells]
        rows = [re.findall(r"`([a-z0-9._]+)(?::[^`]*)?`", cell) for cell in cells]
        there.update(name for row in rows for name in row)
        if rows != sorted(rows): bad.append("%s: %s is not sorted" % (page, section))
    bad.extend("%s lacks %s" % (page, name) for name in sorted(code - there))
    bad.extend("%s: the code does not write %s" % (page, name) for name in sorted(there - code))

compare("verdict-rules.md", ("Rules", "Flags", "Suspicions", "Scan flags"), rules - lint)
compare("task-format.md", ("Lint",), lint)
print("\n".join(bad), file=sys.stderr)
sys.exit(bool(bad) or len(rules) < 60)
END

expect 0 help --man
grep -q '^\.TH KFORGE 1' out || fail "no title"
for section in NAME SYNOPSIS COMMANDS SETTINGS ENVIRONMENT "EXIT STATUS" "SHARED OPTIONS"; do
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
