"""python/kforge_openenv.py as a real OpenEnv server, with OpenEnv's client and over plain HTTP."""
import json
import threading
import time
import urllib.request

from adapter_servers import each, versions

import kforge_openenv
import uvicorn
from openenv import GenericEnvClient

# The observation of kernrl
KERNRL = {"problem_id", "problem_description", "reference_code", "gpu_info", "turn", "max_turns",
          "feedback", "compilation_success", "compilation_error", "correctness_pass", "max_diff",
          "speedup"}


def serve():
    """Serves the app in a thread. Returns the server and its address."""
    server = uvicorn.Server(uvicorn.Config(kforge_openenv.app, port=0, log_level="warning"))
    threading.Thread(target=server.run, daemon=True).start()
    while not server.started:
        time.sleep(0.05)
    return server, "http://127.0.0.1:%d" % server.servers[0].sockets[0].getsockname()[1]


def asked(address, path, content=None):
    data = None if content is None else json.dumps(content).encode()
    headers = {"Content-Type": "application/json"}
    with urllib.request.urlopen(urllib.request.Request(address + path, data, headers)) as answer:
        return json.load(answer)


def environment(policy):
    kforge_openenv.KforgeEnvironment.fields = {"reward": "kevin", **policy.fields}
    kforge_openenv.KforgeEnvironment.max_turns = 3
    server, address = serve()
    schema = asked(address, "/schema")
    assert "code" in schema["action"]["required"], schema["action"]
    assert KERNRL <= set(schema["observation"]["properties"]), schema["observation"]
    assert asked(address, "/health")["status"] == "healthy"
    with GenericEnvClient(base_url=address).sync() as env:
        first = env.reset(problem_id="axpy")
        assert first.observation["problem_id"] == "axpy" and not first.done
        assert "axpy" in first.observation["problem_description"]
        assert KERNRL <= set(first.observation), first.observation
        second = env.step({"code": policy.broken})
        assert second.observation["compilation_success"] is False and second.reward == 0.0
        assert second.observation["compilation_error"]
        third = env.step({"code": policy.wrong})
        assert third.reward == policy.wrong_reward and not third.done
        assert third.observation["correctness_pass"] is False
        assert "wrong_result" in third.observation["feedback"]
        if not policy.real:
            machine = env.step({"code": policy.fault})
            assert machine.reward is None and machine.observation["turn"] == 2
            assert machine.observation["correctness_pass"] is None and not machine.done
        fourth = env.step({"code": policy.good})
        assert fourth.reward == policy.good_reward and fourth.done
        assert fourth.observation["correctness_pass"] is True
        assert fourth.observation["compilation_success"] is True
        state = env.state()
        assert state["solved"] is True and state["turn"] == 3, state
        if not policy.real:
            assert fourth.observation["speedup"] == 1.5 == state["best_speedup"]
    assert asked(address, "/reset", {})["observation"]["problem_id"]
    step = asked(address, "/step", {"action": {"code": policy.good}, "problem_id": "axpy"})
    assert step["reward"] == policy.good_reward, step
    server.should_exit = True


each(environment)
versions("openenv")
