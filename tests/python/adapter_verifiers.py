"""python/kforge_verifiers.py in the evaluation of verifiers, with a model that is scripted."""
import http.server
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading

from adapter_servers import ROOT, each, versions


class Model(http.server.BaseHTTPRequestHandler):
    """Answers chat completions with the policy's reply."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append(asked["messages"])
        message = {"role": "assistant", "content": self.server.reply}
        body = json.dumps({
            "id": "1", "object": "chat.completion", "created": 1, "model": asked["model"],
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def evaluate(reply, fields):
    """Runs vf-eval with a model that gives this reply. Returns the one trace and the prompts."""
    model = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
    model.reply, model.asked = reply, []
    threading.Thread(target=model.serve_forever, args=(0.05,), daemon=True).start()
    with tempfile.TemporaryDirectory() as folder:
        words = ["kforge-verifiers", "--env.taskset.tasks", '["axpy"]', "--no-push", "--no-rich",
                 "--env.taskset.task.patience", "1.5", "--env.taskset.task.fields",
                 json.dumps({"reward": "kevin", **fields}), "--env.agent.harness.id",
                 "scripted-harness", "--env.agent.runtime.type", "subprocess", "--model", "tiny",
                 "--client.base-url", "http://127.0.0.1:%d/v1" % model.server_port,
                 "--client.api-key-var", "NO_KEY", "--output-dir", folder]
        path = os.pathsep.join((str(ROOT / "tests/python"), str(ROOT / "python")))
        environment = {**os.environ, "NO_KEY": "none", "HOME": folder, "PYTHONPATH": path}
        program = pathlib.Path(sys.executable).parent / "vf-eval"
        done = subprocess.run([program, *words], env=environment, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        found = list(pathlib.Path(folder).rglob("traces.jsonl"))
        assert found, done.stdout[-3000:]
        (line,) = found[0].read_text().splitlines()
    model.shutdown()
    (trace,) = json.loads(line)["traces"]
    return trace, model.asked, done.stdout


def evaluation(policy):
    trace, asked, said = evaluate(policy.good, policy.fields)
    reward = trace["rewards"]["kforge"]
    assert reward["score"] == policy.good_reward, (trace["errors"], said[-2000:])
    assert trace["metrics"]["correct"] == 1.0
    assert [m["role"] for m in asked[0]] == ["system", "user"] and "axpy" in str(asked[0])
    if not policy.real:
        trace, _, said = evaluate(policy.fault, policy.fields)
        assert trace["rewards"]["kforge"] is None, trace["rewards"]
        assert "Unjudged" in json.dumps(trace["errors"]), trace["errors"]


each(evaluation)
versions("verifiers", "mcp")
