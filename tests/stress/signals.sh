#!/bin/bash
# signals.sh N [OOM]: sends N signals to random compilers, runners and judges of `kforge optimize` on
# the CPU device, at random instants, and prints one table at the end. OOM adds that many kills by the
# kernel's OOM killer, in a memory cgroup, if this user may make one.
#
#   signals       TERM, CONT and TERM, KILL, STOP and CONT, by the target: compiler, runner, judge
#   false labels  verdicts that blame a candidate or the task for what it did not do
#   lost          attempts that ended without a label
#   given up      runs that ended with status 3, because the judge was ended four times in a row. They
#                 print the command that resumes them.
#   unended       runs that did not end by themselves, or ended with a status that means another fault
#
# BIN names the folder of the programs (default: build/release/bin), WAIT the most seconds between
# two signals, SEED the start of the random numbers. WAIT is by default four times as long as a build
# takes at the start of the run, and at least 3 s: a busy machine that ends every build before its
# time has no verdicts. CANDIDATES (12) is the number of a run. The runs and the
# store stay in LOGS, if that names a folder.
# Exit status: 0, 1 for a false label, a lost attempt or an unended run, 2 for wrong usage, 130 after
# Ctrl-C, which also prints the table.
set -u
tests=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
bin=${BIN:-$tests/../build/release/bin}
if ! [[ "$# ${1:-} ${2:-0}" =~ ^[12]\ [0-9]+\ [0-9]+$ ]]; then
    echo "usage: signals.sh N [OOM]" >&2
    exit 2
fi
[ -x "$bin/kforge" ] || { echo "no $bin/kforge; run ./run build" >&2; exit 2; }
for name in $(env | sed -n 's/^\(KFORGE_[A-Z_]*\)=.*/\1/p'); do unset "$name"; done
export KFORGE_CONFIG=none
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap : INT TERM HUP
export XDG_CACHE_HOME=$work/cache

# Every fourth reply is wrong. No two have the same machine code.
cat >"$work/model.sh" <<'END_OF_MODEL'
#!/bin/bash
cat >/dev/null
exec 9>>lock && flock 9
n=$(($(cat replies 2>/dev/null) + 1))
echo "$n" >replies
factor=a
((n % 4)) || factor='a * 2'
printf '```cuda\n'
sed "s/= a \* x/= $factor * x/" "$TASK/baseline.cu"
printf 'extern "C" __attribute__((used)) int variant_%d() { return %d; }\n```\n' "$n" "$n"
END_OF_MODEL
chmod +x "$work/model.sh"
export TASK=$tests/selftest/scale
cat >"$work/campaign.py" <<'END_OF_PYTHON'
import collections, os, random, signal, sqlite3, subprocess, sys, time

program, work, count, ooms = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
given, seed = float(os.environ.get("WAIT") or 0), int(os.environ.get("SEED") or time.time())
random.seed(seed)
os.chdir(work)
stopped = False

def stop(*_):
    global stopped
    stopped = True

for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, stop)

def processes():
    """pid: (name, parent) of all processes."""
    found = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                text = open(f"/proc/{entry}/stat").read()
                left, right = text.index("("), text.rindex(")")
                state, parent = text[right + 2:].split()[:2]
                if state != "Z":
                    found[int(entry)] = (text[left + 1:right], int(parent))
            except (OSError, ValueError):
                pass
    return found

KINDS = {"kforge-cpucc": "compiler", "g++": "compiler", "cc1plus": "compiler", "as": "compiler",
         "collect2": "compiler", "ld": "compiler", "kforge-runner": "runner", "exe": "judge"}

def targets(agent):
    """Processes below the agent, by their kind. A fork of the agent before its exec is left out: it
    shares the agent's memory, and the OOM killer would end both. A fork of the judge is a runner."""
    all, kinds = processes(), collections.defaultdict(list)
    for pid, (name, parent) in all.items():
        line = [pid]
        while line[-1] in all and line[-1] != agent and len(line) < 20:
            line.append(all[line[-1]][1])
        if pid == agent or line[-1] != agent:
            continue
        kind = KINDS.get(name)
        if kind == "judge" and parent != agent:
            kind = "runner"
        if kind:
            kinds[kind].append(pid)
    return kinds

WAYS = {"TERM": ["TERM"], "CONT+TERM": ["CONT", "TERM"], "KILL": ["KILL"],
        "STOP+CONT": ["STOP", "CONT"]}
sent = collections.Counter()

def send_one(agent):
    kinds = targets(agent)
    if not kinds:
        return
    pid, kind = random.choice([(pid, kind) for kind in sorted(kinds) for pid in kinds[kind]])
    way = random.choice(sorted(WAYS))
    try:
        for name in WAYS[way]:
            os.kill(pid, getattr(signal, "SIG" + name))
            if name == "STOP":
                time.sleep(random.uniform(0.05, 1))
        sent[kind] += 1
    except ProcessLookupError:
        pass

# ---- out of memory -------------------------------------------------------------------------------

LIMITS = (("/sys/fs/cgroup", "memory.max", "memory.current", "memory.events", "max"),
          ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
           "memory.oom_control", "-1"))

def make_group():
    """A memory cgroup of version 2 or 1 and its files; None if this user may not make one."""
    for root, limit, usage, events, most in LIMITS:
        path = f"{root}/kforge-signals-{os.getpid()}"
        if not os.path.exists(f"{root}/cgroup.procs"):
            continue
        try:
            os.mkdir(path)
            open(f"{path}/{limit}", "w").write(most)
            return path, f"{path}/{limit}", f"{path}/{usage}", f"{path}/{events}", most
        except OSError:
            if os.path.isdir(path):
                os.rmdir(path)
    return None

def killed_in(group):
    return sum(int(line.split()[1]) for line in open(group[3]) if line.startswith("oom_kill "))

def write(path, text):
    try:
        open(path, "w").write(text)
    except OSError:
        pass

def run_out_of_memory(agent, group):
    """Moves the processes below the agent into the group, and lowers its limit to what is in use until
    the kernel kills one. The agent stays outside: not every kernel spares it for its score."""
    before, until = killed_in(group), time.time() + 10
    while killed_in(group) == before and time.time() < until and not stopped:
        for pids in targets(agent).values():
            for pid in pids:
                write(f"{group[0]}/cgroup.procs", str(pid))
        write(group[1], str(int(open(group[2]).read()) + (1 << 20)))
        time.sleep(0.01)
    write(group[1], group[4])
    sent["OOM killer"] += killed_in(group) > before

def most_wait():
    """The most seconds between two signals."""
    if given:
        return given
    began = time.time()
    compiler = os.path.dirname(program) + "/kforge-cpucc"
    subprocess.run([compiler, os.environ["TASK"] + "/baseline.cu", "-o", "built.so"],
                   check=True)
    return max(3, 4 * (time.time() - began))

# ---- the campaign --------------------------------------------------------------------------------

group = make_group() if ooms else None
if ooms and not group:
    print("no memory cgroup is granted: no OOM kills")
    ooms = 0

def start():
    log = open("log", "a")
    return subprocess.Popen(
        [program, "optimize", os.environ["TASK"], "--device", "cpu", "--model", "exec:./model.sh",
         "--strategy", "sample", "--candidates", os.environ.get("CANDIDATES", "12"), "--seconds", "0.1", "--store", "store.db",
         "--timeout", "300",
         "-o", "best.cu"], stdin=subprocess.DEVNULL, stdout=log, stderr=log)

began, unended, missed, statuses = time.time(), 0, 0, collections.Counter()
def done():
    return sum(sent.values()) >= count + ooms
while not stopped and not done():
    wait = most_wait()
    agent = start()
    patience = time.time() + 900
    while agent.poll() is None and not stopped and time.time() < patience:
        time.sleep(random.uniform(0, wait))
        if done():
            continue
        left = ooms - sent["OOM killer"]
        if missed == 5:
            print("the OOM killer does not come: no more OOM kills")
            ooms = sent["OOM killer"]
            missed = 0
        elif left and random.random() < left / (count + ooms - sum(sent.values())):
            killed = sent["OOM killer"]
            run_out_of_memory(agent.pid, group)
            missed += killed == sent["OOM killer"]
        else:
            send_one(agent.pid)
    if agent.poll() is None:
        unended += not stopped
        agent.kill()
        agent.wait()
    else:
        statuses[agent.returncode] += 1
if group:
    time.sleep(1)
    try:
        os.rmdir(group[0])
    except OSError:
        pass
if not os.path.exists("store.db"):
    sys.exit(130)

replies = int(open("replies").read()) if os.path.exists("replies") else 0
rows = sqlite3.connect("store.db").execute(
    "SELECT a.outcome, v.status, v.blame, coalesce(v.message, a.message) FROM attempt a "
    "LEFT JOIN verdict v ON v.id = a.verdict").fetchall()
false, lost, wrong, labels = [], [], 0, collections.Counter()
for outcome, status, blame, message in rows:
    labels[status or outcome] += 1
    wrong += status == "wrong_result"
    if outcome == "lost" or (status == "judge_error" and blame == "machine"):
        lost.append(f"{outcome}: {message}")
    elif status not in ("correct", "wrong_result", "interference"):
        false.append(f"{outcome}, {status}, {blame}: {message}")
false += ["a right candidate is wrong"] * max(0, wrong - replies // 4)
unended += sum(n for status, n in statuses.items() if status not in (0, 1, 3, 4))
for title, list in (("false", false), ("lost", lost)):
    for line in list:
        print(f"{title}: {line}")
print()
print(f"{'SIGNALS':>8}" + "".join(f" {k.upper():>10}" for k in sorted(sent)) +
      f" {'RUNS':>5} {'ATTEMPTS':>9} {'FALSE LABELS':>13} {'LOST':>5} {'GIVEN UP':>9} "
      f"{'UNENDED':>8} {'SECONDS':>8}")
print(f"{sum(sent.values()):8}" + "".join(f" {sent[k]:10}" for k in sorted(sent)) +
      f" {sum(statuses.values()):5} {len(rows):9} {len(false):13} {len(lost):5} {statuses[3]:9} "
      f"{unended:8} {time.time() - began:8.0f}")
print(f"seed {seed}; verdicts: " + ", ".join(f"{n} {k}" for k, n in sorted(labels.items())) +
      "; exit statuses: " + ", ".join(f"{n} {k}" for k, n in sorted(statuses.items())))
sys.exit(130 if stopped else 1 if false or lost or unended else 0)
END_OF_PYTHON
python3 "$work/campaign.py" "$bin/kforge" "$work" "$1" "${2:-0}"
status=$?
if [ "${LOGS:-}" ]; then
    mkdir -p "$LOGS"
    cp "$work"/{log,store.db} "$LOGS" 2>/dev/null
fi
exit $status
