"""live_table.py DIR PROPOSALS: the table of live.sh, from the results and stores in DIR/runs."""
import json, math, os, sqlite3, sys

folder, proposals = sys.argv[1], sys.argv[2]
rows, answered, devices, ratios = [], {}, set(), {}
for name in sorted(os.listdir(f"{folder}/runs")):
    if not name.endswith(".json"):
        continue
    task, strategy, seed = name[: -len(".json")].rsplit(".", 2)
    result = json.load(open(f"{folder}/runs/{name}"))
    store = sqlite3.connect(f"{folder}/runs/{task}.{strategy}.{seed}.db")
    calls = store.execute("select model, outcome, count(*), sum(cost_usd), sum(prompt_tokens), sum(completion_tokens), sum(seconds) from model_call group by 1, 2").fetchall()
    points, candidates, correct = store.execute(
        "select sum(a.step = 'tune'), sum(a.model_call is not null and a.candidate is not null), sum(a.model_call is not null and v.status = 'correct') "
        "from attempt a left join verdict v on v.id = a.verdict").fetchone()
    for model, outcome, count, *_ in calls:
        answered[model or "not said"] = answered.get(model or "not said", 0) + count
    cost = [c[3] for c in calls if c[3] is not None]
    once = store.execute("select max(speedup) from verdict where status = 'correct'").fetchone()[0]
    speedup = (result.get("best") or {}).get("speedup") or {}
    devices.add(result["device"])
    if speedup:
        ratios.setdefault((task, seed), {})[strategy] = float(speedup["value"])
    figure = "none correct" if not speedup else "%.2f [%.2f, %.2f]" % tuple(float(speedup[k]) for k in ("value", "low", "high"))
    total = sum(c[2] for c in calls)
    failed = sum(c[2] for c in calls if c[1] not in ("ok", "truncated"))
    tokens = f"{sum(c[4] or 0 for c in calls)} + {sum(c[5] or 0 for c in calls)}" if any(c[4] for c in calls) else f"about {result['tokens']}, not said"
    rows.append(f"| {task} | {strategy} | {seed} | {figure} | {'%.2f' % once if once else '-'} | {total} | {failed} | {candidates or 0} | {correct or 0} | {points or 0} | "
                f"{tokens} | {'%.4f' % sum(cost) if cost else 'not known'} | {sum(c[6] or 0 for c in calls):.0f} s |")
if not rows:
    sys.exit("live_table.py: no run has ended")
print(f"Answered by: {', '.join(f'{m} ({n} calls)' for m, n in sorted(answered.items()))}. Judged on: {', '.join(sorted(devices))}. At most {proposals} calls a run.\n")
print("| task | strategy | seed | best speedup [95 %], measured again | most, measured once | calls | failed | candidates | correct | tuner's points | tokens in + out | USD | model's time |")
print("|---|---|---|---|---|---|---|---|---|---|---|---|---|")
print("\n".join(rows))
both = [r["auto"] / r["sample"] for r in ratios.values() if "auto" in r and "sample" in r]
alone = {s: sum(1 for r in ratios.values() if set(r) == {s}) for s in ("auto", "sample")}
if both:
    print(f"\nauto over sample, geometric mean of {len(both)} pairs: {math.exp(sum(map(math.log, both)) / len(both)):.3f}; "
          f"higher in {sum(x > 1 for x in both)}. Only auto found something correct in {alone['auto']}, only sample in {alone['sample']}.")
