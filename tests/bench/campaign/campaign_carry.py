"""Spool folders that are carried to a machine with a device, and back.

OUT/spool/GROUP/KEY is the spool folder of one command of kforge. GROUP is "search", or the label of
a verification: verdicts of one group come from one kind of card. KEY names the cell. A part is a
copy of the waiting jobs of a group. The jobs stay in their spool folders until they have a verdict,
so a part that is lost or cut costs nothing but time.

A job's id differs each time a run is resumed. So a verdict for a job that no longer waits is kept,
with a digest of the job's content. The next job with that content in the same folder gets it.
"""

import glob
import hashlib
import json
import os
import shutil
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.abspath(os.path.join(HERE, "..", "..", ".."))
# Keys of a job that differ when a run is resumed: its id, and the binaries that are known by then.
CHANGING = ("id", "known_code")


class BadInput(Exception):
    pass


def need(good, text):
    if not good:
        raise BadInput(text)


def read_json(path):
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError) as why:
        raise BadInput(f"{path}: {why}") from why


def write_whole(path, text):
    """A cut call leaves the old file or the new one."""
    with open(path + ".part", "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(path + ".part", path)


def digest(job):
    content = {key: value for key, value in job.items() if key not in CHANGING}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def id_of(path):
    return os.path.basename(path)[: -len(".json")]


def unlink(*paths):
    for path in paths:
        if os.path.exists(path):
            os.unlink(path)


def group_folder(out, group):
    return os.path.join(out, "spool", group)


class Spool:
    """The spool folder of one command, while that command runs. verdicts and kept: answers, with
    and without a waiting job. seen: jobs that a part has answered."""

    def __init__(self, out, group, key):
        self.group = group_folder(out, group)
        self.folder = os.path.join(self.group, key)
        for name in ("jobs", "verdicts", "workers", "kept", "seen"):
            os.makedirs(self.path(name), exist_ok=True)
        self.recover()

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def recover(self):
        """Keeps the verdicts that an earlier command was given and did not read, and removes its
        jobs. Call it while no command uses the folder."""
        for path in glob.glob(self.path("jobs", "*.json")):
            verdict = self.path("verdicts", id_of(path) + ".json")
            if os.path.exists(verdict):
                keep(self.folder, id_of(path), digest(read_json(path)), read_json(verdict))
            unlink(path, verdict)

    def tend(self):
        """Shows the command a living worker, and answers its jobs with kept verdicts."""
        hello, worker = os.path.join(self.group, "hello.json"), self.path("workers", "part.json")
        if os.path.exists(hello):
            if os.path.exists(worker):
                os.utime(worker)
            else:
                with open(hello, encoding="utf-8") as file:
                    write_whole(worker, file.read())
        kept = kept_verdicts(self.folder)
        for path in glob.glob(self.path("jobs", "*.json")) if kept else ():
            answer = self.path("verdicts", id_of(path) + ".json")
            try:
                content = digest(read_json(path))
            except BadInput:  # kforge has just withdrawn the job
                continue
            if content in kept and not os.path.exists(answer):
                verdict = read_json(kept[content])["verdict"] | {"id": id_of(path)}
                write_whole(answer, json.dumps(verdict) + "\n")
                unlink(kept.pop(content))


def kept_verdicts(folder):
    """The paths of the verdicts without a waiting job, by the digest of their job."""
    found = {}
    for path in glob.glob(os.path.join(folder, "kept", "*.json")):
        try:
            found[read_json(path)["content"]] = path
        except BadInput:  # `tend` has just given it to a job
            continue
    return found


def keep(folder, job_id, content, verdict):
    """A verdict that blames the machine is dropped: the job is judged again."""
    if verdict.get("blame") not in ("machine", "judge"):
        write_whole(
            os.path.join(folder, "kept", job_id + ".json"),
            json.dumps({"content": content, "verdict": verdict}) + "\n",
        )


def pack(out, group, part, build, extra):
    """Makes the folder `part`. `extra`: a list of (name, problem, solution) for KernelBench's
    evaluator, and its checkout. Returns the number of jobs and of such solutions."""
    solutions, checkout = extra
    need(not os.path.exists(part), f"{part}: exists; name a new folder")
    index, tasks = {"group": group, "jobs": {}}, []
    # Kept verdicts are read first. `tend` answers a job before it removes one of them.
    cells = glob.glob(os.path.join(group_folder(out, group), "*", "jobs"))
    kept = {os.path.dirname(jobs): kept_verdicts(os.path.dirname(jobs)) for jobs in cells}
    os.makedirs(os.path.join(part, "jobs"))
    for path in sorted(path for jobs in cells for path in glob.glob(os.path.join(jobs, "*.json"))):
        folder = os.path.dirname(os.path.dirname(path))
        try:
            with open(path, encoding="utf-8") as file:
                text = file.read()
        except FileNotFoundError:  # kforge has just withdrawn the job
            continue
        job = json.loads(text)
        content = digest(job)
        # `tend` has answered this job, or is about to. A kept verdict answers only one.
        ready = kept[folder].pop(content, None)
        if ready or os.path.exists(os.path.join(folder, "verdicts", id_of(path) + ".json")):
            continue
        write_whole(os.path.join(part, "jobs", id_of(path) + ".json"), text)
        index["jobs"][id_of(path)] = [os.path.basename(folder), content]
        tasks.append((digest(job.get("task", {})), id_of(path)))
    for name, problem, solution in solutions:
        folder = os.path.join(part, "kernelbench", name)
        os.makedirs(folder)
        shutil.copy(problem, os.path.join(folder, "problem.py"))
        shutil.copy(solution, os.path.join(folder, "solution.py"))
    if solutions:
        source = os.path.join(checkout, "src")
        shutil.copytree(source, os.path.join(part, "checkout", "src"))
        side = os.path.join(ROOT, "tests", "gpu", "kernelbench_side.py")
        shutil.copy(side, part)
    write_whole(os.path.join(part, "index.json"), json.dumps(index) + "\n")
    lines = [f"{job_id} {task}\n" for task, job_id in sorted(tasks)]
    write_whole(os.path.join(part, "tasks.txt"), "".join(lines))
    shutil.copy(os.path.join(HERE, "campaign_work.sh"), os.path.join(part, "work.sh"))
    if build:
        script = os.path.join(ROOT, "tests", "gpu", "pack.sh")
        command = ["sh", script, build, os.path.join(part, "kforge")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        need(done.returncode == 0, f"pack.sh {build}: {done.stderr.strip()}")
    return len(index["jobs"]), len(solutions)


def check_hello(out, group, results):
    """Adopts the worker of the first part. Later parts have to come from the same environment."""
    path = os.path.join(results, "hello.json")
    if not os.path.exists(path):
        return
    first = os.path.join(group_folder(out, group), "hello.json")
    hello = read_json(path)
    if not os.path.exists(first):
        os.makedirs(os.path.dirname(first), exist_ok=True)
        write_whole(first, json.dumps(hello) + "\n")
    ours, theirs = read_json(first)["conditions"], hello["conditions"]
    need(
        ours == theirs,
        f"{results}: judged on “{theirs}”, and the earlier parts of {group} on “{ours}”; times of "
        "the two do not compare. Use the same card and build, or verify with another --as",
    )


def unpack(out, results):
    """Returns how many verdicts a waiting command gets, how many are kept for a resumed one, and
    the results of KernelBench's evaluator by name."""
    index = read_json(os.path.join(results, "index.json"))
    group, given, kept = index["group"], 0, 0
    check_hello(out, group, results)
    for path in glob.glob(os.path.join(results, "verdicts", "*.json")):
        job_id = id_of(path)
        if job_id not in index["jobs"]:
            continue
        key, content = index["jobs"][job_id]
        folder = os.path.join(group_folder(out, group), key)
        seen = os.path.join(folder, "seen", job_id)
        try:
            verdict = read_json(path)
        except BadInput:  # cut while it was copied: the job is judged again
            continue
        if os.path.exists(seen):
            continue
        if os.path.exists(os.path.join(folder, "jobs", job_id + ".json")):
            answer = os.path.join(folder, "verdicts", job_id + ".json")
            write_whole(answer, json.dumps(verdict) + "\n")
            given += 1
        else:
            keep(folder, job_id, content, verdict)
            kept += 1
        write_whole(seen, "")
    found = {}
    for path in glob.glob(os.path.join(results, "kernelbench", "*.json")):
        found[id_of(path)] = read_json(path)
    return group, given, kept, found
