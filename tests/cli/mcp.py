#!/usr/bin/env python3
"""kforge mcp on the CPU device: a session that writes, fails, repairs, profiles and submits a kernel; garbage;
cancellation; secrets; a client that is killed. Usage: mcp.py BIN"""
import ctypes
import http.client
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

from mcp_session import Server, Session, environment

program = os.path.join(os.path.abspath(sys.argv[1]), "kforge")
source_root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
work = tempfile.mkdtemp(prefix="kforge-mcp.")
root = os.path.join(work, "root")
TASK = "axpy"
KERNEL = """#include <cuda_runtime.h>
#include <stdint.h>
__global__ void run(const float *x, float *y, float a, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < LIMIT) y[i] = a * x[i] + y[i]SEMICOLON
}
extern "C" void axpy(const float *x, float *y, float a, int64_t n, cudaStream_t stream)
{
    run<<<(unsigned)((n + BLOCK - 1) / BLOCK), BLOCK, 0, stream>>>(x, y, a, n);
}
"""
# 120 tokens of about 3.5 characters
VERDICT_CHARACTERS = 420


def write(name, text):
    with open(os.path.join(root, name), "w", encoding="utf-8") as file:
        file.write(text)


def kernel(limit="n", semicolon=";", block=256):
    """The source. Each block size gives another machine code, which is not known yet."""
    return KERNEL.replace("LIMIT", limit).replace("SEMICOLON", semicolon).replace("BLOCK", str(block))


def session_of_an_agent():
    """The whole way from an unknown task to a submitted kernel."""
    s = Session(program, root, work)
    sizes = []

    def judge(**arguments):
        verdict = s.judge("kforge_eval", task=TASK, **arguments)
        sizes.append(len(json.dumps(verdict, separators=(",", ":"), ensure_ascii=False)))
        return verdict

    assert s.initialize()["protocolVersion"] == "2025-11-25"
    assert [t["name"] for t in s.call("kforge_tasks", filter=TASK)["tasks"]] == [TASK]
    task = s.call("kforge_task", task=TASK)
    assert "cudaStream_t stream" in task["prototype"] and task["hidden_workloads"] == 1, task
    write("mine.cu", kernel(semicolon=""))
    verdict = judge(file="mine.cu")
    assert verdict["status"] == "compile_error" and not verdict["ok"], verdict
    assert verdict["errors"][0]["line"] in (6, 7) and "line" in verdict["next"], verdict
    write("mine.cu", kernel(limit="n - 1"))
    verdict = judge(file="mine.cu", mode="check")
    assert verdict["status"] == "wrong_result" and verdict["next"] and verdict["speedup"] is None, verdict
    assert "fix" not in s.fails("kforge_profile", candidate=verdict["candidate"]), verdict
    write("mine.cu", kernel())
    verdict = judge(file="mine.cu", mode="check")
    assert verdict["ok"], verdict
    # On a busy machine a measurement may yield no figure. Only other code is measured again.
    for block in (256, 128, 64, 32, 1024):
        mine = kernel(block=block)
        write("mine.cu", mine)
        verdict = judge(file="mine.cu")
        if verdict["speedup"]:
            break
    assert verdict["ok"] and verdict["candidate"] and verdict["speedup"], verdict
    source, mine = mine, verdict["candidate"]
    profile = s.call("kforge_profile", candidate=mine)
    assert profile["candidate"] == mine and "counters" in profile and "floor_share" in profile, profile
    assert s.call("kforge_scan", file="mine.cu")["findings"] == []
    verdict = s.judge("kforge_submit", candidate=mine, note="one thread an element")
    for _ in range(5):
        if not verdict["speedup"]:
            verdict = s.judge("kforge_submit", candidate=mine)
    assert verdict["ok"] and verdict["candidate"] == mine and verdict["speedup"], verdict
    s.call("kforge_note", task=TASK, text="the baseline is near the floor")
    task = s.call("kforge_task", task=TASK, detail="full")
    assert task["notes"] == ["the baseline is near the floor", "one thread an element"], task
    assert s.call("kforge_best", task=TASK, source=True)["source"] == source
    rows = s.call("kforge_history", task=TASK)["history"]
    assert {r["status"] for r in rows} == {"correct", "wrong_result", "compile_error"}, rows
    wrong = next(r["candidate"] for r in rows if r["status"] == "wrong_result")
    assert "-    if (i < n - 1)" in s.call("kforge_diff", a=wrong, b=mine)["diff"]
    # Known work is answered at once, and so are files that do not exist.
    assert judge(file="mine.cu")["candidate"] == mine
    assert "none.cu" in s.fails("kforge_eval", task=TASK, file="none.cu")
    assert s.close() == 0, s.errors
    assert statistics.median(sizes) <= VERDICT_CHARACTERS, sizes
    print("verdicts have", sizes, "characters")


def garbage_and_a_long_call():
    """Answers to all lines, in the middle of a call that is cancelled."""
    s = Session(program, root, work)
    s.initialize()
    slow = s.start("tools/call", name="kforge_eval", _meta={"progressToken": "p"},
                   arguments={"task": TASK, "source": kernel(block=512), "mode": "verify", "wait_s": 600})
    lines = [b"{\n", b"\xff\xfe\n", b"[]\n", b"null\n", b"\n", b"{}\n", b"x" * 100000 + b"\n", b"[" * 5000 + b"\n"]
    for line in lines:
        s.send(line)
    codes = []
    while len(codes) < len(lines) - 1:
        message = s.read()
        if "method" not in message:  # no progress of the long call
            codes.append(message.get("error", {}).get("code"))
    assert codes == [-32700, -32700, -32600, -32600, -32600, -32700, -32700], codes
    assert s.ask("ping")["result"] == {}
    s.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": slow}})
    assert s.ask("ping")["result"] == {}
    assert slow not in s.answers
    assert s.close() == 0, s.errors


def secrets():
    """No file outside of the root, no oracle and no hidden workload in any answer of any task."""
    s = Session(program, root, work)
    s.initialize()
    shutil.copytree(os.path.join(source_root, "tasks", TASK), os.path.join(root, "tasks", TASK))
    write("outside.txt", "")
    os.symlink("/etc/passwd", os.path.join(root, "passwd.cu"))
    os.mkfifo(os.path.join(root, "fifo.cu"))
    for path in ("passwd.cu", "fifo.cu", "/etc/passwd", "../secret.cu", "tasks/axpy/oracle.cu", "/dev/zero"):
        for tool, more in (("kforge_eval", {"task": TASK}), ("kforge_scan", {})):
            assert "root:" not in s.fails(tool, file=path, **more), path
    for task in s.call("kforge_tasks")["tasks"]:
        folder = os.path.join(source_root, "tasks", task["name"])
        with open(os.path.join(folder, "task.json"), encoding="utf-8") as file:
            described = json.load(file)
        with open(os.path.join(folder, described["oracle"]["file"]), encoding="utf-8") as file:
            oracle = file.read()
        for detail in ("brief", "full"):
            text = json.dumps(s.call("kforge_task", task=task["name"], detail=detail))
            assert len(text) <= {"brief": 400, "full": 1200}[detail] * 4, (task["name"], detail, len(text))
            for workload in described["workloads"]:
                assert not workload.get("hidden") or '"%s"' % workload["name"] not in text, (task, workload)
            lines = [l.strip() for l in oracle.splitlines() if len(l.strip()) > 30 and "oracle" in l]
            assert not any(json.dumps(l)[1:-1] in text for l in lines), task
    assert s.close() == 0, s.errors


def over_http():
    """POST /mcp of kforge serve: JSON, events once there is progress, wrong headers, a client that goes."""
    with Server(program, work) as server:
        posts(server.url.removeprefix("http://"))
    assert server.status == 0


def posts(host):
    meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {},
            "progressToken": 7}

    def post(params, method="tools/call", name="kforge_eval", **headers):
        connection = http.client.HTTPConnection(host)
        connection.request("POST", "/mcp", json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params | {"_meta": meta}}),
                           {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2026-07-28",
                            "Mcp-Method": method, "Mcp-Name": name} | headers)
        return connection.getresponse()

    answer = post({}, method="tools/list")
    assert answer.status == 200 and len(json.load(answer)["result"]["tools"]) == 11
    answer = post({"name": "kforge_note"})
    assert answer.status == 400 and json.load(answer)["error"]["code"] == -32020
    answer = post({}, method="nothing")
    assert answer.status == 404 and json.load(answer)["error"]["code"] == -32601
    # Timing twice takes longer than the second after which there is progress.
    long = {"name": "kforge_eval", "arguments": {"task": TASK, "source": kernel(block=128), "mode": "verify", "wait_s": 600}}
    answer = post(long)
    assert answer.getheader("Content-Type") == "text/event-stream", answer.getheaders()
    events = [json.loads(line.removeprefix(b"data: ")) for line in answer.read().splitlines() if line.startswith(b"data: ")]
    assert events[0]["params"]["progressToken"] == 7 and events[-1]["id"] == 1 and "status" in events[-1]["result"]["structuredContent"]
    long["arguments"]["source"] = kernel(block=64)
    answer = post(long)
    answer.readline()
    answer.close()
    answer = post({"name": "kforge_scan", "arguments": {"file": "mine.cu"}}, name="kforge_scan")
    assert json.load(answer)["result"]["isError"]


def killed_client():
    """After kill -9 of a client in the middle of a judgement, no process of the server is left."""
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER: orphans become children of this process
    script = ("import subprocess, sys\n"
              "p = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)\n"
              "for line in sys.stdin.buffer: p.stdin.write(line); p.stdin.flush()\n"
              "print(p.stdout.readline()); print(p.stdout.readline(), flush=True)\n"
              "import time; time.sleep(600)\n")
    client = subprocess.Popen([sys.executable, "-c", script, program, "mcp", "--root", root, "--device", "cpu"],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment(work), cwd=work)
    call = {"name": "kforge_eval", "_meta": {"progressToken": 1},
            "arguments": {"task": TASK, "source": kernel(block=1024), "mode": "verify", "wait_s": 600}}
    for message in ({"id": 1, "method": "initialize",
                     "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {}}},
                    {"id": 2, "method": "tools/call", "params": call}):
        client.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
    client.stdin.close()
    client.stdout.readline()
    assert b"notifications/progress" in client.stdout.readline()
    os.kill(client.pid, signal.SIGKILL)
    client.wait()
    client.stdout.close()
    until = time.monotonic() + 120
    while time.monotonic() < until:
        try:
            if os.waitpid(-1, os.WNOHANG) == (0, 0):
                time.sleep(0.1)
        except ChildProcessError:
            return
    raise AssertionError("processes are left: " + subprocess.run(
        ["ps", "-o", "pid,ppid,args", "--ppid", str(os.getpid())], capture_output=True, text=True).stdout)


os.mkdir(root)
try:
    for part in (session_of_an_agent, garbage_and_a_long_call, secrets, over_http, killed_client):
        begin = time.monotonic()
        part()
        print("%s: %.1f s" % (part.__name__, time.monotonic() - begin), flush=True)
finally:
    shutil.rmtree(work)
