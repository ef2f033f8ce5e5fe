#!/bin/bash
# kforge export for trainers: the exact rows of each dialect, --columns, groups with repetitions,
# suspected cheats, empty exports, and --check-memory. dialects_real.sh has the trainers' own readers.
source "$(dirname "$0")/lib.sh"
"$bin/../tests/make_dataset" d.db "$root/tasks" >/dev/null || fail make_dataset
export KFORGE_STORE=$work/d.db
for format in sft dpo kto grpo multiturn raw; do expect 0 export --format $format -o $format.jsonl; done
expect 0 export --format multiturn --only correct -o multiturn-correct.jsonl
expect 0 export --format multiturn --dialect openai --only all -o openai-all.jsonl

# Every dialect with every format: the rows are made of the format's own, or the format is refused.
for dialect in trl openai llamafactory axolotl verl nemo-gym; do
    for format in raw sft dpo kto grpo contrast multiturn cassette; do
        "$program" export --format $format --dialect $dialect -o $dialect-$format.jsonl >out 2>err
        echo "$dialect $format $?" >>tried
    done
done
python3 - <<'END' 2>py.err || fail "$(tail -n 3 py.err)"
import json
load = lambda name: [json.loads(line) for line in open(name)]
own = {f: load(f + ".jsonl") for f in ("sft", "dpo", "kto", "grpo", "multiturn", "raw")}
correct = load("multiturn-correct.jsonl")
task = lambda r: {"task": r["task"], "task_hash": r["task_hash"]}
text = lambda messages, role: next((m["content"] for m in messages if m["role"] == role), "")
def weighted(r):
    status = iter(r["statuses"])
    return [m | ({"weight": int(next(status) == "correct")} if m["role"] == "assistant" else {}) for m in r["messages"]]
only = lambda *names: lambda i, r: {n: r[n] for n in names}
conversation = only("messages")
prompts = lambda i, r: {"prompt": r["prompt"]} | task(r)
first = lambda messages: messages[0]
wanted = {
    ("trl", "sft"): conversation, ("trl", "multiturn"): conversation,
    ("trl", "dpo"): only("prompt", "chosen", "rejected"), ("trl", "kto"): only("prompt", "completion", "label"),
    ("trl", "grpo"): prompts,
    ("openai", "sft"): conversation, ("openai", "multiturn"): lambda i, r: {"messages": weighted(r)},
    ("openai", "dpo"): lambda i, r: {"input": {"messages": r["prompt"]}, "preferred_output": r["chosen"], "non_preferred_output": r["rejected"]},
    ("openai", "grpo"): lambda i, r: {"messages": r["prompt"]} | task(r),
    ("llamafactory", "sft"): conversation, ("llamafactory", "multiturn"): conversation,
    ("llamafactory", "dpo"): lambda i, r: {"messages": r["prompt"], "chosen": first(r["chosen"]), "rejected": first(r["rejected"])},
    ("llamafactory", "kto"): lambda i, r: {"messages": r["prompt"] + r["completion"], "label": r["label"]},
    ("axolotl", "sft"): conversation, ("axolotl", "multiturn"): conversation,
    ("axolotl", "dpo"): lambda i, r: {"prompt": r["prompt"], "chosen": first(r["chosen"]), "rejected": first(r["rejected"])},
    ("axolotl", "kto"): lambda i, r: {"system": text(r["prompt"], "system"), "prompt": text(r["prompt"], "user"),
                                      "completion": r["completion"][0]["content"], "label": r["label"]},
    ("axolotl", "grpo"): prompts,
    ("verl", "sft"): conversation, ("verl", "multiturn"): conversation,
    ("verl", "grpo"): lambda i, r: {"data_source": "kforge", "prompt": r["prompt"], "ability": "cuda",
                                    "reward_model": {"style": "rule", "ground_truth": r["task"]},
                                    "extra_info": {"split": "train", "index": i} | task(r)},
    ("nemo-gym", "grpo"): lambda i, r: {"responses_create_params": {"input": r["prompt"]}, "verifier_metadata": task(r)},
}
for line in open("tried"):
    dialect, format, status = line.split()
    if (dialect, format) not in wanted:
        assert status == "2", line
        continue
    assert status == "0", line
    got = load(f"{dialect}-{format}.jsonl")
    want = [wanted[dialect, format](i, r) for i, r in enumerate(correct if (dialect, format) == ("openai", "multiturn") else own[format])]
    assert got == want and got, (dialect, format, [g for g, w in zip(got, want) if g != w][:1])
    assert all(list(g) == list(w) for g, w in zip(got, want)), (dialect, format)
assert load("openai-all.jsonl") == [{"messages": weighted(r)} for r in own["multiturn"]]
assert {m.get("weight") for r in load("openai-all.jsonl") for m in r["messages"]} == {None, 0, 1}
END
expect 2 export --format dpo --dialect verl -o x.parquet
complains "--dialect verl takes: sft, multiturn, grpo"

# Folders: the file type that the reader takes, the configuration, the card
expect 0 export --format dpo --dialect llamafactory --test-family reduction --keep-leaks -o lf
python3 - <<'END' 2>py.err || fail "$(tail -n 3 py.err)"
import json
info = json.load(open("lf/dataset_info.json"))
assert list(info) == ["kforge_dpo", "kforge_dpo_test"] and info["kforge_dpo"]["ranking"] is True
assert info["kforge_dpo"]["columns"] == {"messages": "messages", "chosen": "chosen", "rejected": "rejected"}
rows = [json.loads(l) for e in info.values() for l in open("lf/" + e["file_name"])]
assert len(rows) == len(open("dpo.jsonl").readlines())
card = open("lf/README.md").read()
assert "  - name: chosen\n    struct:\n    - name: role\n      dtype: string\n" in card and "--dialect llamafactory" in card
assert "| `chosen` | message |" in card and "chosen_status" not in card
END
expect 0 export --format kto --dialect llamafactory -o kto-lf.jsonl
case $err in *'dataset_info.json needs these lines:'*'"file_name": "kto-lf.jsonl"'*'"kto_tag": "label"'*) ;; *) fail "no entry: $err" ;; esac
expect 0 export --format kto --dialect llamafactory --shard-rows 3 --as jsonl -o shards
python3 -c 'import json; i = json.load(open("shards/dataset_info.json")); assert list(i)[:2] == ["kforge_kto", "kforge_kto_2"] and len({e["file_name"] for e in i.values()}) == len(i)' || fail "shards"
expect 0 export --format dpo --dialect axolotl -o ax
for line in "rl: dpo" "  - path: train-00000.jsonl" "    type: chat_template.default" "    field_messages: prompt" "    field_chosen: chosen"; do
    grep -qxF -e "$line" ax/axolotl.yml || fail "axolotl.yml lacks: $line"
done
expect 2 export --format sft --dialect openai -o x.jsonl.gz
complains "OpenAI's fine-tuning does not read .jsonl.gz; write .jsonl"
expect 2 export --format sft --dialect llamafactory --as jsonl.zst -o x

# --columns
expect 0 export --format sft --columns "instruction=messages:user,output=messages:assistant,score=reward,task" -o alpaca.jsonl
expect 0 export --format dpo --dialect trl --columns chosen_speedup,by=chosen_model -o more.jsonl
expect 0 export --format kto --columns conversations=prompt+completion,ok=label -o lf.jsonl
expect 0 export --columns id,status -o two.jsonl
python3 - <<'END' 2>py.err || fail "$(tail -n 3 py.err)"
import json
load = lambda name: [json.loads(line) for line in open(name)]
assert load("alpaca.jsonl") == [{"instruction": r["messages"][1]["content"], "output": r["messages"][2]["content"], "score": r["reward"], "task": r["task"]} for r in load("sft.jsonl")]
assert load("more.jsonl") == [{n: r[n] for n in ("prompt", "chosen", "rejected", "chosen_speedup")} | {"by": r["chosen_model"]} for r in load("dpo.jsonl")]
assert load("lf.jsonl") == [{"conversations": r["prompt"] + r["completion"], "ok": r["label"]} for r in load("kto.jsonl")]
assert load("two.jsonl") == [{"id": r["id"], "status": r["status"]} for r in load("raw.jsonl")]
# A number keeps every digit.
number = lambda line: line.split('"score":')[1].split(",")[0]
assert [number(l) for l in open("alpaca.jsonl")] == [l.split('"reward":')[1].split("}")[0].split(",")[0] for l in open("sft.jsonl")]
END
for wrong in "x=nothing" "=task" "x=" "a b=task" "x=task,x=run" "x=task:user" "x=messages+task" "x=messages:robot" "@x=task" ""; do
    expect 2 export --format sft --columns "$wrong" -o x.jsonl
    complains "--columns"
done
expect 2 export --format dpo --dialect trl --columns prompt=chosen -o x.jsonl
expect 2 export --format cassette --columns x=reply -o x.jsonl
expect 2 export --format modelnew --columns x=reply -o x.py
complains "--columns has no effect"
expect 2 export --format package --dialect trl -o x
complains "--dialect has no effect"

# Groups keep repetitions, unless they are to go.
groups() { python3 -c 'import json, sys; r = [json.loads(l) for l in open(sys.argv[1])]; assert [x["group"] for x in r] == [int(sys.argv[2])] * 3 and all(len(x["completions"]) == x["group"] for x in r), [x["group"] for x in r]' "$@" 2>py.err || fail "$(tail -n 1 py.err)"; }
expect 0 export --format grpo --group task -o groups.jsonl
groups groups.jsonl 10
expect 0 export --format grpo --group task --dedup on -o folded.jsonl
groups folded.jsonl 9

# 16 replies to one prompt with at most 3 sources are a group of 16.
cat >answer.sh <<'END'
cat >/dev/null
printf '{"text": "```cuda\\n#pragma fake: speed 1.%d\\nextern \\"C\\" void axpy() {}\\n```"}' $((RANDOM % 3 + 1))
END
mkdir suite
cp -r "$root/tasks/axpy" suite
expect 0 bench suite --workers "$bin/../tests/fake_worker" --model "exec:bash $work/answer.sh" -k 16 --store samples.db
expect 0 export --format grpo --store samples.db -o samples.jsonl
python3 -c 'import json; (r,) = [json.loads(l) for l in open("samples.jsonl")]; assert r["group"] == len(r["completions"]) == len(r["rewards"]) == 16 and len(set(r["candidates"])) <= 3, r["group"]' 2>py.err ||
    fail "a group of 16: $(tail -n 1 py.err)"

# Suspected cheats, in all formats
for format in raw sft kto grpo; do expect 0 export --format $format --only suspected --least-group 1 -o suspected-$format.jsonl; done
python3 - <<'END' 2>py.err || fail "$(tail -n 3 py.err)"
import json
for name in ("raw", "sft", "kto"):
    rows = [json.loads(l) for l in open(f"suspected-{name}.jsonl")]
    assert len(rows) == 3 and {r["status"] for r in rows} == {"wrong_result"}, (name, len(rows))
assert {s for l in open("suspected-grpo.jsonl") for s in json.loads(l)["statuses"]} == {"wrong_result"}
END

# No rows: a message says why.
expect 0 export --format sft --only cheating --task axpy --held-out axpy -o empty.jsonl
case $err in "kforge: the data set has no rows: "*) ;; *) fail "no message: $err" ;; esac
case $err in *"of held-out tasks"*"--only cheating --task axpy"*) ;; *) fail "no reason: $err" ;; esac
[ -e empty.jsonl ] && [ ! -s empty.jsonl ] || fail "an empty export"
expect 0 export --format dpo --margin 1000000 --only correct -o none.jsonl --json
complains "in no pair"

# export_memory.sh runs --check-memory.
expect 2 export --format kto --check-memory -o x.jsonl
complains "--check-memory has no effect"
finish
