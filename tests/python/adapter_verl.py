"""python/kforge_verl.py in verl's own reward managers, with a scripted policy."""
import asyncio
import json
import pathlib
import tempfile
from concurrent.futures import ThreadPoolExecutor

from adapter_servers import ROOT, each, tokenizer, versions

import numpy
import torch
import verl
from hydra import compose, initialize_config_dir
from kforge_client import Unjudged
from tensordict import TensorDict
from verl import DataProto
from verl.experimental.reward_loop.reward_loop import RewardLoopWorker

KEYS = {"score", "acc", "cheating", "scorable", "status"}
folder = tempfile.TemporaryDirectory()
tokens = tokenizer(folder.name)


def batch(replies):
    """Returns replies as verl's rollout hands them over."""
    rows = [tokens(reply)["input_ids"] for reply in replies]
    width = max(map(len, rows))
    responses = torch.tensor([r + [tokens.pad_token_id] * (width - len(r)) for r in rows])
    prompts = torch.ones((len(rows), 1), dtype=torch.long)
    mask = torch.tensor([[1] + [1] * len(r) + [0] * (width - len(r)) for r in rows])
    tensors = TensorDict({"prompts": prompts, "responses": responses, "attention_mask": mask},
                         batch_size=len(rows))
    columns = {"data_source": ["kforge"] * len(rows), "extra_info": [{} for _ in rows],
               "reward_model": [{"style": "rule", "ground_truth": "axpy"} for _ in rows]}
    return DataProto(batch=tensors, non_tensor_batch={
        name: numpy.array(values, dtype=object) for name, values in columns.items()})


def worker(path, manager, name="compute_score", **settings):
    """Returns verl's worker, configured as by the command line of main_ppo."""
    key = "reward.custom_reward_function."
    words = [key + "path=" + path, key + "name=" + name, "reward.reward_manager.name=" + manager,
             "actor_rollout_ref.model.path=" + folder.name]
    words += ["+%sreward_kwargs.%s=%s" % (key, k, json.dumps(v).replace('"', ""))
              for k, v in {"patience": 1.5, **settings}.items()]
    with initialize_config_dir(str(pathlib.Path(verl.__file__).parent / "trainer/config"),
                               version_base=None):
        return RewardLoopWorker(compose("ppo_trainer", overrides=words))


def managers(policy):
    path = str(ROOT / "python/kforge_verl.py")
    for where, manager in (("pkg://kforge_verl", "naive"), (path, "dapo"), (path, "gdpo"),
                           (path, "rate_limited")):
        asked = worker(where, manager, **policy.fields)
        data = batch([policy.good, policy.wrong, policy.broken])
        results = asked.loop.run_until_complete(asked.compute_score_batch(data))
        expected = [policy.good_reward, policy.wrong_reward, policy.broken_reward]
        assert [r["reward_score"] for r in results] == expected, (manager, results)
        for result in results:
            assert KEYS <= set(result["reward_extra_info"]), (manager, result)
        scores = type(asked.reward_manager).assemble_rm_scores(data, expected)
        assert scores.sum(dim=1).tolist() == torch.tensor(expected).tolist()
    if policy.real:
        return
    asked = worker(path, "naive")
    run = asked.loop.run_until_complete
    assert run(asked.compute_score_batch(batch([policy.late])))[0]["reward_score"] == 1.8
    try:
        run(asked.compute_score_batch(batch([policy.fault])))
        raise SystemExit("a fault of the machine has a reward")
    except Unjudged as error:
        assert "axpy: judge_error" in str(error), error
    result = run(worker(path, "naive", unjudged=0).compute_score_batch(batch([policy.fault])))[0]
    assert result["reward_score"] == 0.0 and result["reward_extra_info"]["scorable"] == 0.0
    # A shape of OmegaConf becomes JSON.
    run(worker(path, "naive", shape={"correct": 1}).compute_score_batch(batch([policy.good])))
    assert policy.seen[-1][1]["shape"] == {"correct": 1}, policy.seen[-1]
    import kforge_verl
    with ThreadPoolExecutor() as pool:  # In a thread, because it makes an event loop of its own.
        words = ("kforge", policy.good, "axpy", {})
        result = pool.submit(kforge_verl.compute_score_sync, *words, patience=1).result()
    assert set(result) == KEYS and result["score"] == policy.good_reward
    assert asyncio.iscoroutinefunction(kforge_verl.compute_score)


each(managers)
versions("verl", "torch", "transformers")
