#!/bin/bash
# A folder with a hostile kforge.json, a hostile task and a hostile store: each field with text gets
# commands, paths, links, pipes and devices, and each command that reads it runs. No command of theirs
# runs, no file outside is read or made, and no command hangs.
source "$(dirname "$0")/lib.sh"
fake=$bin/../tests/fake_worker
unset KFORGE_CONFIG KFORGE_STORE
cp -r "$root/tasks/axpy" axpy
echo "a secret of another folder" >secret
cat >foreign.py <<'END'
import json, os, shutil, sqlite3, subprocess, sys

program, fake, work = sys.argv[1:4]
owned = work + "/owned"
os.chdir(work)
# A command in each form that a shell or kforge would run, and names that lead out of the folder.
COMMANDS = [f"exec:touch {owned}", f"local; touch {owned}", f"$(touch {owned})`touch {owned}`;touch {owned}|touch {owned}\ntouch {owned}"]
FILES = ["../../../../../../../../../../etc/passwd", "/etc/passwd", "../secret", "link", "pipe", "loop", "folder", "/dev/zero", "/proc/self/environ"]
failures, runs = [], 0

def plant(folder):
    """What the names of FILES lead to."""
    os.makedirs(folder + "/folder", exist_ok=True)
    for name, make in (("link", lambda p: os.symlink(work + "/secret", p)), ("pipe", os.mkfifo), ("loop", lambda p: os.symlink("loop", p))):
        if not os.path.lexists(f"{folder}/{name}"):
            make(f"{folder}/{name}")

def kforge(what, *arguments, folder=work, read=False):
    """Runs a command. `read`: the secret may be in its output."""
    global runs
    runs += 1
    try:
        done = subprocess.run([program, *arguments], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=200)
        text = (done.stdout + done.stderr).decode(errors="replace")
        if done.returncode not in (0, 1, 2, 3, 4):
            failures.append(f"{what}: kforge {' '.join(arguments)}: status {done.returncode}: {text[-300:]}")
        if not read and ("a secret of another" in text or "root:x:0" in text):
            failures.append(f"{what}: kforge {' '.join(arguments)}: shows a file of another folder")
        if any(ord(c) < 32 and c not in "\n\t" for c in text):
            failures.append(f"{what}: kforge {' '.join(arguments)}: control characters")
    except subprocess.TimeoutExpired:
        failures.append(f"{what}: kforge {' '.join(arguments)}: hangs")
        return None
    if os.path.exists(owned):
        failures.append(f"{what}: kforge {' '.join(arguments)}: a command ran")
        os.unlink(owned)
    return done.returncode

def fields(value, path=()):
    """Paths to all texts of a JSON value, its keys included."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield path + (key, None)
            yield from fields(item, path + (key,))
    elif isinstance(value, list):
        for i, item in enumerate(value):
            yield from fields(item, path + (i,))
    elif isinstance(value, str):
        yield path

def changed(value, path, text):
    """A copy with `text` in place of a text or, where the path ends with None, of a key."""
    copy = json.loads(json.dumps(value))
    at = copy
    if path[-1] is None:
        for step in path[:-2]:
            at = at[step]
        at[text] = at.pop(path[-2])
    else:
        for step in path[:-1]:
            at = at[step]
        at[path[-1]] = text
    return copy

def would_run(what, *arguments, folder=work, **environment):
    """Checks that a command that is allowed does run: else this test shows nothing."""
    subprocess.run([program, *arguments], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=200, env={**os.environ, **environment})
    if not os.path.exists(owned):
        failures.append(f"{what}: the command would not even run if it were allowed")
        return
    os.unlink(owned)

def project():
    """kforge.json in a folder of its own."""
    shutil.rmtree("project", ignore_errors=True)
    os.makedirs("project/.git")
    shutil.copytree("axpy", "project/axpy")
    plant("project")
    names = "model ensemble strategy time candidates cost tokens budget-requests gpu-seconds workers device devices seed calls sandbox flags prompts store sign cache".split()
    listed = subprocess.run([program, "help", "settings"], capture_output=True, text=True).stdout
    for line in listed.split("\n"):
        word = line[2:].split(" ")[0]
        if line.startswith("  ") and line[2:3].isalpha() and "  " in line[2:] and word.islower() and word not in names:
            names.append(word)
    home = os.environ["HOME"]
    for name in names:
        for text in COMMANDS + FILES:
            for value in ([text], text) if text in COMMANDS[:1] else (text,):
                json.dump({name: value}, open("project/kforge.json", "w"))
                what = f"kforge.json: {name}: {value!r}"
                kforge(what, "list", folder="project", read=name == "store")
                if name not in ("model", "workers", "strategy", "prompts", "store", "sign", "flags"):
                    continue
                # Without the worker of the command line, the device ends the local one at once.
                worker = ["--device", "tpu"] if name == "workers" else ["--workers", fake]
                kforge(what, "optimize", "axpy", "--candidates=1", "--time=1s", *worker, folder="project", read=name == "prompts")
    for name, text in (("model", COMMANDS[0]), ("workers", COMMANDS[1][7:])):
        json.dump({name: text}, open("project/kforge.json", "w"))
        would_run(f"one's own kforge.json: {name}", "optimize", "axpy", "--candidates=40", "--time=5s", *(["--workers", fake] if name == "model" else ["--model", "none"]),
                  folder="project", KFORGE_CONFIG="kforge.json")
    for name in ("pipe", "loop", "folder", "/dev/zero", "/etc/passwd"):
        os.path.lexists("project/kforge.json") and os.unlink("project/kforge.json")
        os.symlink(name, "project/kforge.json")
        kforge(f"kforge.json leads to {name}", "list", folder="project")
        kforge(f"kforge.json leads to {name}", "trust", ".", folder="project")
    os.unlink("project/kforge.json")
    os.mkfifo("project/kforge.json")
    os.mkfifo("project/.env")
    kforge("kforge.json is a pipe", "list", folder="project")
    kforge(".env is a pipe", "doctor", "--model", "openai:gpt", folder="project")
    if not set(os.listdir(home)) <= {".cache", ".config", ".local"}:
        failures.append(f"the home folder holds {os.listdir(home)}")

def tasks():
    """task.json, and the files that it names."""
    original = json.load(open("axpy/task.json"))
    paths = list(fields(original))
    for path in paths:
        file = "file" in path or "seeds" in path
        for text in COMMANDS + (FILES if file else FILES[:1]):
            shutil.rmtree("theirs", ignore_errors=True)
            shutil.copytree("axpy", "theirs")
            plant("theirs")
            json.dump(changed(original, path, text), open("theirs/task.json", "w"))
            what = f"task.json: {'.'.join(map(str, path))}: {text!r}"
            status = kforge(what, "task", "show", "theirs")
            kforge(what, "task", "lint", "--read-only", "theirs")
            if status:
                continue
            kforge(what, "prompt", "theirs", "--store", "prompts.db")
            kforge(what, "list", "--tasks", "theirs")
            kforge(what, "optimize", "theirs", "--model", "none", "--candidates=1", "--time=5s", "--workers", fake, "--store", "tasks.db")
            if path[-1] == "description" or file:
                kforge(what, "eval", "theirs", "axpy/baseline.cu", "--device", "cpu", "--asan", "--store", "tasks.db")
    for name in os.listdir("axpy"):
        for target in ("pipe", "loop", "folder", "/dev/zero", "link", "/etc/passwd"):
            shutil.rmtree("theirs", ignore_errors=True)
            shutil.copytree("axpy", "theirs")
            plant("theirs")
            os.unlink("theirs/" + name)
            os.symlink(target, "theirs/" + name)
            what = f"{name} leads to {target}"
            kforge(what, "task", "show", "theirs")
            kforge(what, "prompt", "theirs", "--store", "prompts.db")
            kforge(what, "eval", "axpy", "theirs/" + name, "--workers", fake, "--store", "tasks.db", read=True)

def stores():
    """Each column with text, and each text of a run's options."""
    kforge("a store", "optimize", "axpy", "--model", "exec:./reply.sh", "--candidates=6", "--workers", fake, "--store", "good.db")
    db = sqlite3.connect("good.db")
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    run, options = db.execute("SELECT key, options FROM run").fetchone()
    columns = [(table, column[1]) for table, in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
               for column in db.execute(f"PRAGMA table_info({table})") if column[2] == "TEXT" and table != "table_sum"]
    db.close()
    commands = [["list"], ["list", "--json"], ["show", "latest"], ["show", "latest", "--json"], ["show", "c1"], ["show", "c1", "--source"], ["show", "latest", "--html", "run.html"],
                ["watch", "--terminal"], ["diff", "c1"], ["diff", "c1", "c2"], ["store", "stats"],
                ["store", "check"], ["export", "--format", "raw", "-o", "-"], ["export", "--format", "sft", "-o", "-"]]
    resume = ["optimize", "--resume", run, "--workers", fake, "--candidates", "7", "--time", "1s"]
    replay = ["optimize", "axpy", "--model", f"replay:theirs.db#{run}", "--workers", fake, "--candidates", "2", "--time", "5s", "-o", "kept.cu"]

    def check(what, change, *more):
        shutil.copy("good.db", "theirs.db")
        with sqlite3.connect("theirs.db") as theirs:
            change(theirs)
        theirs.close()
        for command in more or commands:
            kforge(what, *command, *([] if "#" in " ".join(command) else ["--store", "theirs.db"]))
        for suffix in ("-wal", "-shm", ""):
            os.path.exists("theirs.db" + suffix) and os.unlink("theirs.db" + suffix)

    for table, column in columns:
        for text in COMMANDS[::2] + FILES[:1]:
            def change(theirs):
                try:
                    theirs.execute(f"UPDATE {table} SET {column} = ?", (text,))
                except sqlite3.IntegrityError: # one row alone, where rows must differ
                    theirs.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = (SELECT min(rowid) FROM {table})", (text,))
            check(f"{table}.{column}: {text!r}", change, *commands, resume + ["--model", "none"], *([replay] if table in ("model_call", "run") else []))
    parsed = json.loads(options)
    for path in fields(parsed):
        for text in COMMANDS[::2] + ["replay:pipe", "replay:/dev/zero", "replay:/etc/passwd"] + FILES[:1]:
            hostile = json.dumps(changed(parsed, path, text))
            check(f"run.options.{'.'.join(map(str, path))}: {text!r}", lambda theirs: theirs.execute("UPDATE run SET options = ?", (hostile,)),
                  ["list"], ["show", "latest"], resume, resume + ["--model", "none"])
    shutil.copy("good.db", "theirs.db")
    with sqlite3.connect("theirs.db") as theirs:
        theirs.execute("UPDATE run SET options = ?", (json.dumps(changed(parsed, ("models", 0), COMMANDS[0])),))
    theirs.close()
    kforge("a store that is allowed", "trust", "theirs.db")
    would_run("a store that is allowed", "optimize", "--resume", run, "--workers", fake, "--candidates", "40", "--time", "5s", "--store", "theirs.db")
    for target in ("pipe", "loop", "folder", "/dev/zero", "/etc/passwd"):
        plant(".")
        kforge(f"a store that is {target}", "list", "--store", target)
        kforge(f"a store that is {target}", "store", "check", "--store", target)
        kforge(f"a store that is {target}", "store", "merge", target, "--store", "merged.db")
        kforge(f"a cassette that is {target}", "optimize", "axpy", "--model", f"replay:{target}", "--workers", fake, "--time=5s", "--store", "tasks.db", "-o", "kept.cu")

open("reply.sh", "w").write("#!/bin/sh\ncat >/dev/null; printf '```cuda\\n#pragma fake: speed 1.%s\\nextern \"C\" void axpy(int n) {}\\n```\\n' $$\n")
os.chmod("reply.sh", 0o755)
for part in sys.argv[4:]:
    {"project": project, "tasks": tasks, "stores": stores}[part]()
    print(f"{part}: {runs} commands so far")
for failure in failures[:20]:
    print(failure)
sys.exit(len(failures) > 0)
END
python3 foreign.py "$program" "$fake" "$work" ${2:-project tasks stores} || fail "see above"
[ "$(ls home)" = "" ] || fail "made in the home folder: $(ls home)"
finish
