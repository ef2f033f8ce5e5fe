#!/bin/bash
# A run with workers of a real Slurm: jobs are cancelled, reach their time limit, and lose slurmd
# or slurmstepd. Slurm runs on
# loopback, with its own ports, key and configuration in the test's folder, as the user of the
# test. It touches no other Slurm.
source "$(dirname "$0")/lib.sh"
PATH=$PATH:/usr/sbin:/sbin
for name in munged slurmctld slurmd srun scancel scontrol squeue python3; do
    command -v $name >/dev/null ||
        { echo "skipped: no $name (Debian: apt-get install slurm-wlm munge python3)"; exit 77; }
done
for name in $(env | sed -n 's/^\(\(SLURM\|SLURMD\|SRUN\|SBATCH\|SALLOC\|SCANCEL\|SQUEUE\|MUNGE\)_[A-Z_0-9]*\)=.*/\1/p'); do unset "$name"; done
export SLURM_CONF=$work/slurm.conf
nodes=(n1 n2)
declare -A daemon

# start NAME COMMAND…: the test's own process, in its folder.
start() {
    local name=$1
    shift
    "$@" >>"$work/$name.out" 2>&1 </dev/null &
    daemon[$name]=$!
}
start_node() { start "slurmd.$1" slurmd -D -N "$1" -f "$SLURM_CONF"; }
# Prints the processes of this Slurm's steps: they work in the test's folder and name themselves so.
stepds() { # [JOB]
    local place
    for place in $(find /proc -maxdepth 2 -name cwd -lname "$work" 2>/dev/null); do
        place=${place%/cwd}
        case $(tr '\0' ' ' <"$place/cmdline") in "slurmstepd: [${1:+$1.}"*) echo "${place#/proc/}" ;; esac
    done 2>/dev/null
}
stop_slurm() {
    [ -z "${run_pid:-}" ] || kill -KILL "$run_pid" 2>/dev/null
    [ -z "${daemon[slurmctld]:-}" ] || timeout 10 scancel --user="$(id -un)" 2>/dev/null
    local pids
    mapfile -t pids < <(stepds)
    kill -KILL "${pids[@]}" "${daemon[@]}" 2>/dev/null
    wait 2>/dev/null
    clean_up
}
trap stop_slurm EXIT

read -r port port1 port2 < <(python3 -c 'import socket
all = [socket.socket() for _ in range(3)]
for s in all: s.bind(("127.0.0.1", 0))
print(*(s.getsockname()[1] for s in all))')
head -c 128 /dev/urandom >munge.key
chmod 600 munge.key
mkdir state spool.n1 spool.n2
touch plugstack.conf
cat >slurm.conf <<END_OF_FILE
ClusterName=kforge_test
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort=$port
SlurmUser=$(id -un)
SlurmdUser=$(id -un)
AuthType=auth/munge
AuthInfo=socket=$work/munge.socket
CredType=cred/munge
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool.%n
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd.%n.pid
SlurmctldLogFile=$work/slurmctld.log
SlurmdLogFile=$work/slurmd.%n.log
PlugStackConfig=$work/plugstack.conf
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/linear
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
SlurmdParameters=config_overrides
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
ReturnToService=2
KillWait=2
NodeName=n1 NodeHostname=localhost NodeAddr=127.0.0.1 Port=$port1 CPUs=4 State=UNKNOWN
NodeName=n2 NodeHostname=localhost NodeAddr=127.0.0.1 Port=$port2 CPUs=4 State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
END_OF_FILE
start munged munged --force --foreground --key-file="$work/munge.key" --socket="$work/munge.socket" --pid-file="$work/munged.pid" --log-file="$work/munged.log" --seed-file="$work/munged.seed" --num-threads=2
await [ -S munge.socket ]
start slurmctld slurmctld -D -f "$SLURM_CONF"
for node in "${nodes[@]}"; do start_node $node; done
works() { timeout 20 srun -Q -w "$1" -n1 true; }
for node in "${nodes[@]}"; do
    await works $node || { tail -n 20 ./*.out; echo "skipped: this machine runs no Slurm daemons"; exit 77; }
done

# A model with candidates of three kinds, which say what they are.
cat >answer.sh <<'END_OF_FILE'
cat >/dev/null
exec 9>lock
flock 9
n=$(($(cat count 2>/dev/null || echo 0) + 1))
echo $n >count
printf '```cuda\n'
case $((n % 3)) in
0) printf 'int expect_compile_error_%s(\n' $n ;;
1) sed "/^__global__/i constexpr int64_t expect_correct_$n = $n;
s/^    if (i < n)/    if (i == (1LL << 40) + expect_correct_$n) y[0] = 0;\n&/" baseline.cu ;;
2) sed "/^__global__/i constexpr float expect_wrong_result_$n = $n;
s/a \\* x\\[i\\]/expect_wrong_result_$n * 2 * a * x[i]/" baseline.cu ;;
esac
printf '```\n'
END_OF_FILE
task=$root/tasks/axpy
cp "$task/baseline.cu" .
since=$SECONDS
expect_judged 0 eval "$task" baseline.cu --device cpu --seconds 0.3 --no-keep # fills the cache
# Seconds to a verdict after a job was lost: less than any time limit, and more where judging takes
# longer.
usual=$((60 + 6 * (SECONDS - since)))
limit=$usual

"$program" optimize "$task" --workers "srun -Q -n1 $program worker --device cpu*2" --model "exec:sh $work/answer.sh" --strategy sample --time 1200s --seconds 0.3 --store run.db >run.out 2>run.err &
run_pid=$!
# verdicts [MORE SECONDS]: prints their number, once there are more than MORE or after SECONDS. One
# process waits, since each start of Python would take a processor from the judge.
verdicts() {
    python3 - "file:$work/run.db" "${1:--1}" "${2:-0}" <<'END_OF_FILE'
import sqlite3, sys, time
store = sqlite3.connect(sys.argv[1] + "?mode=ro", uri=True, timeout=20)
until = time.monotonic() + float(sys.argv[3])
while True:
    try: count, = store.execute("SELECT count(*) FROM verdict WHERE blame != 'machine'").fetchone()
    except sqlite3.OperationalError: count = -1 # its tables are not there yet
    if count > int(sys.argv[2]) or time.monotonic() > until: break
    time.sleep(0.3)
print(count)
END_OF_FILE
}
job_on() { squeue -h -w "$1" -t R -o %i | head -n 1; }
# Prints a process and those below it, each with the time it started.
tree() {
    local pid
    for pid in "$@"; do
        awk -v pid="$pid" '{ sub(/^.*\) /, ""); print pid ":" $20 }' "/proc/$pid/stat"
        tree $(cat "/proc/$pid/task/"*/children)
    done 2>/dev/null
}
is_alive() { # PID:START
    [ "$(awk '{ sub(/^.*\) /, ""); if ($1 != "Z") print $20 }' "/proc/${1%%:*}/stat" 2>/dev/null)" = "${1#*:}" ]
}
is_gone() { ! is_alive "$1"; }
# True if the job judges: a process runs below the worker. Sets $processes.
judges() {
    job=$(job_on "$1")
    [ -n "$job" ] || ! sleep 0.3 || return 1
    mapfile -t processes < <(tree $(stepds "$job"))
    [ ${#processes[@]} -gt 3 ] || ! sleep 0.1
}
has_more() { [ "$(verdicts "$1" "$2")" -gt "$1" ]; } # THAN SECONDS
has_job() { [ -n "$(job_on "$1")" ] && [ "$(job_on "$1")" != "$2" ]; }

# lose WHAT NODE COMMAND…: something happens to the job of a node that is judging. A verdict comes
# within the limit, the node gets another job, and of the old one nothing is left.
lose() {
    local what=$1 node=$2 before since old
    shift 2
    kill -0 $run_pid 2>/dev/null || { fail "$what: the run has ended: $(tail -n 5 run.err)"; return; }
    await judges $node || return
    old=$job
    "$@" || fail "$what: exit status $?"
    before=$(verdicts) since=$SECONDS
    await has_job $node "$old" || return
    echo "$what: job $old on $node, ${#processes[@]} processes; another job after $((SECONDS - since)) s"
    [ $((SECONDS - since)) -le $limit ] || fail "$what: another job only after $((SECONDS - since)) s"
    has_more "$before" $((limit - SECONDS + since)) || fail "$what: no verdict after $limit s"
    echo "$what: a verdict after $((SECONDS - since)) s"
    local process
    for process in "${processes[@]}"; do await is_gone "$process" || fail "$what: $(tr '\0' ' ' <"/proc/${process%%:*}/cmdline") is left"; done
}
await [ -s run.db ]
has_more 0 240 || fail "no verdict"
for node in n1 n2 n1; do lose scancel $node eval 'scancel $job'; done
lose "scancel --signal=KILL" n2 eval 'scancel --signal=KILL $job'
lose "scancel --signal=TERM" n1 eval 'scancel --signal=TERM $job'
limit=$((usual + 30)) # Slurm looks every 30 s
# A job that began in the same second has no valid end yet.
set_end() { await scontrol update JobId="$job" EndTime=now+2seconds; }
lose "a time limit" n2 set_end
limit=$usual
kill_stepd() { kill -KILL $(stepds "$job"); }
lose "slurmstepd killed" n1 kill_stepd
# A step goes on without its slurmd. When its job is cancelled then, the node waits for slurmd,
# and the other one works.
await judges n2
before=$(verdicts)
kill -KILL "${daemon[slurmd.n2]}"
since=$SECONDS
has_more "$before" 240 || fail "slurmd killed: no verdict"
echo "slurmd killed: a verdict after $((SECONDS - since)) s"
start_node n2
lose "scancel after slurmd was killed" n2 eval 'scancel $job'

# The run is stopped and resumed: in the end all attempts are judged, and every label is right.
interrupt $run_pid
wait $run_pid
[ $? = 130 ] || fail "the run: exit status $?: $(tail -n 5 run.err)"
run_pid=''
no_jobs() { [ -z "$(squeue -h)" ]; }
await no_jobs
interrupted=$(verdicts)
expect 0 optimize --resume last --workers "srun -Q -n1 $program worker --device cpu*2" --time 1300s --budget-requests $(($(cat count) + 3)) --store run.db
await no_jobs
expect 0 export --format raw --store run.db
python3 - out count <<'END_OF_FILE' || fail "labels"
import collections, json, re, sys
wrong, open_, labels = [], set(), collections.Counter()
judged = collections.defaultdict(set)
for line in open(sys.argv[1]):
    row = json.loads(line)
    kind = re.search(r"expect_([a-z_]*)_\d+", row["source"] or "")
    if not kind: continue
    if row["blame"] in ("machine", "") or not row["status"]: judged[row["source"]] |= set()
    else: judged[row["source"]].add(row["status"])
for source, statuses in judged.items():
    kind = re.search(r"expect_(([a-z_]*)_\d+)", source)
    labels[kind[2]] += 1
    if not statuses: open_.add(kind[1])
    elif statuses != {kind[2]}: wrong.append((kind[1], statuses))
print(dict(labels), "wrong:", wrong, "not judged:", open_)
sys.exit(bool(wrong or open_ or len(labels) != 3))
END_OF_FILE
[ -z "$(stepds)" ] || fail "a step is left"
finish
