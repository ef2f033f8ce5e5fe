"""same_runs.py STORE RUN STORE RUN: what both did, in order, out of which parents, and what their models were asked and answered before the run ended, and
when: how far the run was each time."""
import hashlib, sqlite3, sys
def run_of(path, key):
    db = sqlite3.connect(path)
    (run,) = db.execute("select id from run where key = ?", (key,)).fetchone()
    attempts = db.execute("select a.step, a.outcome, a.message, c.hash, v.status, v.message from attempt a left join candidate c on c.id = a.candidate "
                          "left join verdict v on v.id = a.verdict where a.run = ? order by a.number", (run,)).fetchall()
    family = db.execute("select l.attempt, l.ordinal, c.hash, l.role from lineage l join candidate c on c.id = l.parent where l.run = ? "
                        "order by l.attempt, l.ordinal", (run,)).fetchall()
    calls = db.execute("select hex(p.hash), hex(r.hash), m.outcome, m.purpose, json_extract(m.settings, '$.asked'), json_extract(m.settings, '$.after') from model_call m left join blob p on p.id = m.prompt "
                       "left join blob r on r.id = m.reply where m.run = ? and json_extract(m.settings, '$.after') < 1 << 50 order by m.id", (run,)).fetchall()
    return attempts, family, calls
one, two = run_of(*sys.argv[1:3]), run_of(*sys.argv[3:5])
for what, a, b in zip(("attempt", "parent", "call"), one, two):
    for i, (x, y) in enumerate(zip(a, b)):
        if x != y:
            sys.exit(f"{what} {i + 1} differs: {x} and {y}")
    if len(a) != len(b): sys.exit(f"{len(a)} and {len(b)} {what}s")
print(len(one[0]), "attempts and", len(one[2]), "calls, all the same")
