#!/bin/bash
# kills.sh N: runs `kforge optimize` and ends it with SIGKILL at N random instants; a sixth of the
# signals go to a worker or to a model's process. Each killed run is resumed. Workers are the tests'
# double, which judges at once, so that most instants fall between or into commits. Prints one table.
#
#   attempts   stored at the end, in all runs
#   lost       attempts that were stored before a kill and were gone or changed after it
#   gaps       runs with attempts that are not numbered 1, 2, 3, …
#   damaged    kills after which `kforge store check` found a fault
#   failed     sessions that ended by themselves with another status than 0 or 1
#   left       processes of a killed session that still ran 10 s after the campaign
#
# BIN names the folder of the programs (default: build/release/bin), WAIT the most seconds before a
# kill (0.5), SEED the start of the random numbers. The store stays in LOGS, if that names a folder.
# Exit status: 0, 1 if anything was lost, 2 for wrong usage, 130 after Ctrl-C.
set -u
tests=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
bin=${BIN:-$tests/../build/release/bin}
if ! [[ "$# ${1:-}" =~ ^1\ [1-9][0-9]*$ ]]; then
    echo "usage: kills.sh N" >&2
    exit 2
fi
[ -x "$bin/../tests/fake_worker" ] || { echo "no $bin/../tests/fake_worker; run ./run build" >&2; exit 2; }
for name in $(env | sed -n 's/^\(KFORGE_[A-Z_]*\)=.*/\1/p'); do unset "$name"; done
export KFORGE_CONFIG=none
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap : INT TERM HUP
cat >"$work/model.sh" <<'END_OF_MODEL'
#!/bin/bash
cat >/dev/null
RANDOM=$$
printf '```cuda\n#pragma fake: speed 1.%03d\n// %s\nextern "C" void axpy(int n) {}\n```\n' $((RANDOM % 1000)) "$RANDOM$RANDOM$RANDOM"
END_OF_MODEL
chmod +x "$work/model.sh"
cat >"$work/campaign.py" <<'END_OF_PYTHON'
import os, random, signal, sqlite3, subprocess, sys, time

bin, task, work, count = os.path.abspath(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4])
wait, seed = float(os.environ.get("WAIT") or 0.5), int(os.environ.get("SEED") or time.time())
random.seed(seed)
os.chdir(work)
stopped = False

def stop(*_):
    global stopped
    stopped = True

for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, stop)

def ours():
    """pid: name of the processes with the folder of this campaign in their environment."""
    found = {}
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            if work.encode() in open(f"/proc/{entry}/environ", "rb").read():
                found[int(entry)] = open(f"/proc/{entry}/comm").read().strip()
        except OSError:
            pass
    found.pop(os.getpid(), None)
    return found

def query(text):
    """The rows; none before the store has its tables."""
    try:
        return sqlite3.connect("file:store.db?mode=ro", uri=True).execute(text).fetchall()
    except sqlite3.OperationalError:
        return []

def attempts():
    rows = query("SELECT r.key, a.number, a.outcome, a.candidate, a.verdict, a.model_call FROM attempt a JOIN run r ON r.id = a.run")
    return {row[:2]: row[2:] for row in rows}

def start(run):
    worker = f"exec {bin}/../tests/fake_worker"
    argv = [f"{bin}/kforge", "optimize", "--workers", worker, "--workers", worker, "--store", "store.db", "-o", "best.cu"]
    argv += ["--resume", run] if run else [task, "--model", "exec,parallel=3:./model.sh", "--candidates", "60", "--seed", str(random.randrange(1 << 30))]
    log = open("log", "a")
    return subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env={**os.environ, "CAMPAIGN": work, "FAKE_SLEEP": "0.02"})

kills = {"agent": 0, "worker": 0, "model": 0}
lost, damaged, failed, runs, run = [], [], [], 1, None
began = time.time()
while sum(kills.values()) < count and not stopped:
    agent = start(run)
    time.sleep(random.uniform(0, wait))
    target, pid = "agent", agent.pid
    if random.random() < 1 / 6:
        others = [(name, pid) for pid, name in ours().items() if name in ("fake_worker", "model.sh")]
        if others:
            name, pid = random.choice(others)
            target = "worker" if name == "fake_worker" else "model"
    before = attempts()
    try:
        os.kill(pid, signal.SIGKILL)
        if agent.poll() is None or target != "agent":
            kills[target] += 1
    except ProcessLookupError:
        pass
    if target != "agent":
        time.sleep(random.uniform(0, wait))
        if agent.poll() is None:
            agent.kill()
            kills["agent"] += 1
    status = agent.wait()
    if status not in (0, 1, -signal.SIGKILL):
        failed.append(status)
    if status == -signal.SIGKILL or sum(kills.values()) % 10 == 0:
        if query("SELECT 1 FROM sqlite_master"): # else nothing was stored yet
            check = subprocess.run([f"{bin}/kforge", "store", "check", "--store", "store.db"], capture_output=True, text=True)
            if check.returncode:
                damaged.append(check.stdout + check.stderr)
    after = attempts()
    lost += [(key, value, after.get(key)) for key, value in before.items() if after.get(key) != value]
    found = query("SELECT key FROM run ORDER BY id DESC LIMIT 1")
    if status in (0, 1):
        run, runs = None, runs + 1
    else:
        run = found[0][0] if found else None
time.sleep(1)
until = time.time() + 10
while ours() and time.time() < until:
    time.sleep(0.2)
left = ours()
rows = attempts()
gaps = 0
for key in {key for key, _ in rows}:
    numbers = sorted(number for name, number in rows if name == key)
    gaps += numbers != list(range(1, len(numbers) + 1))
for title, list_ in (("lost", lost), ("damaged", damaged), ("failed", failed), ("left", left.items())):
    for line in list_:
        print(f"{title}: {line}")
print(f"{'KILLS':>6} {'AGENT':>6} {'WORKER':>7} {'MODEL':>6} {'RUNS':>5} {'ATTEMPTS':>9} {'LOST':>5} {'GAPS':>5} {'DAMAGED':>8} {'FAILED':>7} {'LEFT':>5} {'SECONDS':>8}")
print(f"{sum(kills.values()):6} {kills['agent']:6} {kills['worker']:7} {kills['model']:6} {runs:5} {len(rows):9} {len(lost):5} {gaps:5} {len(damaged):8} {len(failed):7} {len(left):5} {time.time() - began:8.0f}")
print(f"seed {seed}")
sys.exit(130 if stopped else 1 if lost or gaps or damaged or failed or left else 0)
END_OF_PYTHON
python3 "$work/campaign.py" "$bin" "$tests/../tasks/axpy" "$work" "$1"
status=$?
if [ "${LOGS:-}" ]; then
    mkdir -p "$LOGS"
    cp "$work"/{log,store.db} "$LOGS" 2>/dev/null
fi
exit $status
