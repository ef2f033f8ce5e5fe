"""python/kforge_skyrl.py in the real SkyRL-gym, with a scripted policy."""
from adapter_servers import each, versions

import skyrl_gym
from kforge_client import Unjudged

skyrl_gym.register(id="kforge", entry_point="kforge_skyrl:KforgeEnv")


def episode(policy, replies, **extras):
    config = {**policy.fields, "patience": 1.5}
    extras = {"reward_spec": {"method": "rule", "ground_truth": "axpy"}, **extras}
    env = skyrl_gym.make("kforge", env_config=config, extras=extras)
    prompt = [{"role": "user", "content": "Make axpy faster."}]
    assert env.init(prompt) == (prompt, {})
    steps = [env.step(reply) for reply in replies]
    metrics = env.get_metrics()
    env.close()
    return steps, metrics


def environment(policy):
    (step,), metrics = episode(policy, [policy.good])
    assert step["reward"] == policy.good_reward and step["done"] and step["observations"] == []
    assert step["metadata"]["status"] == "correct" and metrics["correct"] == 1.0
    steps, metrics = episode(policy, [policy.wrong, policy.good], max_turns=2)
    assert [s["reward"] for s in steps] == [policy.wrong_reward, policy.good_reward], steps
    assert [s["done"] for s in steps] == [False, True]
    assert "wrong_result" in steps[0]["observations"][0]["content"], steps[0]
    assert steps[0]["observations"][0]["role"] == "user"
    if not policy.real:
        assert episode(policy, [policy.late])[0][0]["reward"] == policy.good_reward
        try:
            episode(policy, [policy.fault])
            raise SystemExit("a fault of the machine has a reward")
        except Unjudged as error:
            assert "judge_error" in str(error), error


each(environment)
versions("skyrl-gym")
