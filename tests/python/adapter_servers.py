"""The servers that the adapters' tests ask, and the texts of a scripted policy.

`each(test)` calls test(policy) with the scripted server of fake_server.py, then with the real
`kforge serve` that the client starts itself, if JUDGE_BIN is the folder of the program.
"""
import os
import pathlib
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "python"))  # for use without adapters.sh, which installs it
sys.path.insert(0, str(ROOT / "tests/python"))
import fake_server  # noqa: E402
import kforge_client  # noqa: E402


class Scripted:
    """Replies as answers of fake_server.py. Fields of a request change nothing."""

    real = False
    good, good_reward = "correct 1.5", 1.8
    wrong, wrong_reward = "wrong_result", 0.0
    broken, broken_reward = "compile_error", 0.0
    # Never a reward, and a reward at the second try
    fault, late = "machine", "machine\ncorrect 1.5"
    fields = {}


class Real:
    """Replies with kernels for the task axpy. They are not timed: the machine may be busy."""

    real = True
    source = (ROOT / "tasks/axpy/baseline.cu").read_text()
    fence = "I think so.\n```cuda\n%s```\nIt is called with 3 pointers."
    good, good_reward = fence % source, 0.3
    wrong, wrong_reward = fence % source.replace("a * x[i] + y[i]", "a * x[i]"), 0.05
    broken, broken_reward = fence % "int x = ;\n", 0.0
    fields = {"mode": "check", "shape": {"wrong_result": 0.05}}


def use(address):
    """Makes the adapters ask this server. Returns its requests."""
    if kforge_client._client:
        kforge_client._client.close()
    kforge_client._client = None
    os.environ.pop("KFORGE_SERVER", None)
    os.environ.pop("KFORGE_TOKEN", None)
    if address:
        os.environ["KFORGE_SERVER"] = address


def each(test):
    """Runs a test with each server."""
    server = fake_server.start()
    use("http://127.0.0.1:%d" % server.server_port)
    policy = Scripted()
    policy.seen = server.seen
    test(policy)
    print("%s: passed with scripted answers" % test.__name__, flush=True)
    folder = os.environ.get("JUDGE_BIN")
    if folder:
        os.environ["PATH"] = folder + ":" + os.environ["PATH"]
        os.environ["KFORGE_DEVICE"] = "cpu"
        os.chdir(ROOT)
        with tempfile.TemporaryDirectory() as store:  # A stored time would answer a check.
            os.environ.update(KFORGE_STORE=store + "/kforge.db", KFORGE_CONFIG="none",
                              XDG_RUNTIME_DIR=store)
            use(None)
            test(Real())
            use(None)
            until = time.monotonic() + 60
            while os.listdir(store + "/kforge") and time.monotonic() < until:
                time.sleep(0.05)  # until the server has ended and deleted its files
        print("%s: passed with kforge serve" % test.__name__, flush=True)


def versions(*names):
    """Prints the versions of the packages that the test ran with."""
    from importlib.metadata import version
    print("ran with", ", ".join("%s %s" % (name, version(name)) for name in names), flush=True)


def tokenizer(folder=None):
    """Returns a tokenizer of bytes with a chat template."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {piece: i for i, piece in enumerate(alphabet + ["<end>", "<pad>"])}
    core = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    made = PreTrainedTokenizerFast(tokenizer_object=core, eos_token="<end>", pad_token="<pad>")
    made.chat_template = (
        "{% for message in messages %}<{{ message.role }}>{{ message.content }}{% endfor %}"
        "{% if add_generation_prompt %}<assistant>{% endif %}"
    )
    if folder:
        made.save_pretrained(folder)
    return made
