"""python/kforge_nemo_gym.py as NeMo-Gym's web application, asked as a trainer asks it."""
from unittest.mock import MagicMock

from adapter_servers import each, versions

from fastapi.testclient import TestClient
from kforge_nemo_gym import KforgeConfig, KforgeResourcesServer
from nemo_gym.server_utils import ServerClient


def verified(client, reply):
    """Returns the answer of /verify for a reply of the model."""
    content = {"annotations": [], "text": reply, "type": "output_text"}
    message = {"id": "1", "content": [content], "role": "assistant", "status": "completed",
               "type": "message"}
    response = {"id": "1", "created_at": 0.0, "model": "tiny", "object": "response",
                "output": [message], "parallel_tool_calls": True, "tool_choice": "auto",
                "tools": []}
    asked = {"responses_create_params": {"input": [{"role": "user", "content": "Faster!"}]},
             "response": response, "verifier_metadata": {"task": "axpy", "row": 7}}
    answer = client.post("/verify", json=asked)
    assert answer.status_code == 200, answer.text
    return answer.json()


def resources_server(policy):
    config = KforgeConfig(host="127.0.0.1", port=8080, entrypoint="", name="kforge",
                          domain="coding", patience=1.5,
                          fields={"reward": "kevin", **policy.fields})
    server = KforgeResourcesServer(config=config, server_client=MagicMock(spec=ServerClient))
    with TestClient(server.setup_webserver()) as client:
        assert client.post("/seed_session", json={}).status_code == 200
        session = {"resources_session_id": "1", "episode_id": {"rollout_id": "r"}}
        task = {"task_id": {"taskset": "kforge", "task_id": "axpy"}, "task_data": {}}
        answer = client.post("/seed_session", json={**session, **task})
        assert answer.json()["resources_session_id"] == "1", answer.text
        for name in ("good", "wrong", "broken"):
            answer = verified(client, getattr(policy, name))
            assert answer["reward"] == getattr(policy, name + "_reward"), answer
            assert answer["mask_sample"] is False and answer["failure_kind"] is None
            assert answer["correct"] is (name == "good")
            assert answer["verifier_metadata"] == {"task": "axpy", "row": 7}
            assert answer["response"]["output"][0]["content"][0]["text"] == getattr(policy, name)
        if not policy.real:
            answer = verified(client, policy.fault)
            assert answer["mask_sample"] is True and answer["reward"] == 0.0, answer
            assert answer["failure_kind"] == "verifier_error", answer
            assert "judge_error" in answer["failure_reason"], answer
        assert client.post("/close_session", json=session).status_code == 200


each(resources_server)
versions("nemo-gym")
