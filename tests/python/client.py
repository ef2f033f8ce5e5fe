"""Tests of python/kforge_client with a small server that says what a source asks for.

    client.py [NAME…]     cases of unittest

A source is a list of answers, one a line. The first request gets the first one, and so on.
"""
import asyncio
import http.server
import json
import multiprocessing
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
os.environ.pop("KFORGE_SERVER", None)
os.environ.pop("KFORGE_TOKEN", None)
import kforge_client  # noqa: E402
from kforge_client import Client, RequestError, ServerError  # noqa: E402
from kforge_client import client, local  # noqa: E402

SERVER = ROOT / "tests/python/fake_server.py"
sys.path.insert(0, str(SERVER.parent))
import fake_server  # noqa: E402


class Judging(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = fake_server.start()
        cls.address = "http://127.0.0.1:%d" % cls.server.server_port

    @classmethod
    def tearDownClass(cls):
        cls.server.shutdown()
        cls.server.server_close()

    def setUp(self):
        self.server.seen.clear()
        self.client = Client(self.address, timeout=60, retries=4)
        self.addCleanup(self.client.close)

    def judge(self, *answers, **fields):
        return self.client.judge("axpy", "\n".join(answers), **fields)

    def requests(self):
        return [body for path, body, _ in self.server.seen if path == "/v1/judge"]

    def test_a_verdict(self):
        result = self.judge("correct 1.5", reward="kevin", mode="time", flags=["-DA=1"])
        self.assertEqual((result.reward, result.status, result.correct), (1.8, "correct", True))
        self.assertEqual(result.speedup, (1.5, 1.4, 1.6))
        self.assertIn("the next step", result.feedback())
        sent = self.requests()[0]
        self.assertEqual((sent["task"], sent["reward"]), ("axpy", "kevin"))
        self.assertEqual(sent["flags"], ["-DA=1"])
        self.assertLessEqual(sent["deadline_s"], 60)
        self.assertNotIn("reply", sent)

    def test_a_reply_and_defaults(self):
        other = Client(self.address, mode="check", reward="kevin")
        self.assertEqual(other.judge("axpy", reply="wrong_result").reward, 0.0)
        other.judge("axpy", reply="correct 2", mode="time")
        self.assertEqual([r["mode"] for r in self.requests()], ["check", "time"])
        other.close()

    def test_a_fault_has_no_reward(self):
        for answer in ("machine", "task", "judge", "machine with a reward"):
            result = self.judge(answer)
            self.assertIsNone(result.reward, answer)
            self.assertFalse(result.scorable, answer)

    def test_no_speedup(self):
        result = self.judge("correct null")
        self.assertEqual((result.reward, result.speedup), (0.3, None))

    def test_tries_again(self):
        for trouble in ("cut", "hang up", "garbage", "status 500", "status 503", "nan", "no status",
                        "text as reward", "not an object", "reset"):
            with self.subTest(trouble):
                self.server.seen.clear()
                self.assertEqual(self.judge(trouble, trouble, "correct 1").reward, 1.3)
                self.assertEqual(len(self.requests()), 3)

    def test_gives_up_without_a_reward(self):
        for trouble in ("cut", "garbage", "status 500"):
            other = Client(self.address, retries=1)
            result = other.judge("axpy", "\n".join([trouble] * 9))
            self.assertEqual((result.reward, result.status), (None, "unreachable"))
            self.assertFalse(result.scorable)
            other.close()

    def test_waits_for_a_full_queue(self):
        begun = time.monotonic()
        busy = ["busy 0.2"] * 6  # more often than the number of tries
        self.assertEqual(self.judge(*busy, "correct 1").reward, 1.3)
        self.assertGreaterEqual(time.monotonic() - begun, 1.2)
        self.assertEqual(len(self.requests()), 7)

    def test_a_full_queue_ends_with_the_time(self):
        other = Client(self.address, timeout=0.5)
        result = other.judge("axpy", "\n".join(["busy 20"] * 9))
        self.assertEqual((result.reward, result.status), (None, "unreachable"))
        other.close()

    def test_a_slow_server(self):
        impatient = Client(self.address, timeout=0.2)
        self.assertEqual(self.judge("slow 0.3 correct 2").reward, 2.3)
        result = impatient.judge("axpy", "deadline")
        # A busy machine may not even send the request within the time.
        self.assertIn((result.status, result.reward), [("deadline", None), ("unreachable", None)])
        impatient.close()

    def test_deadline_and_size(self):
        for answer, status in (("status 504", "deadline"), ("status 413", "too_large")):
            result = self.judge(answer)
            self.assertEqual((result.status, result.reward), (status, None))
            self.assertEqual(len(self.requests()), 1)
            self.server.seen.clear()

    def test_a_reply_that_is_too_large_has_no_source(self):
        result = self.client.judge("axpy", reply="status 413")
        self.assertEqual((result.status, result.reward), ("no_source", 0.0))

    def test_patience(self):
        client.PAUSE = 0.01
        self.addCleanup(setattr, client, "PAUSE", 1.0)
        answers = "machine\njudge\nstatus 504\ncorrect 1"
        self.assertEqual(self.client.judge("axpy", answers, patience=60).reward, 1.3)
        self.assertEqual(self.client.judge("axpy", "wrong_result", patience=60).reward, 0.0)
        self.assertEqual(len(self.requests()), 5)
        result = self.client.judge("axpy", "machine", patience=0.1)
        self.assertIsNone(result.reward)
        with self.assertRaises(kforge_client.Unjudged):
            result.needed()

    def test_a_wrong_call(self):
        for status in (400, 401, 404):
            with self.assertRaises(RequestError) as caught:
                self.judge("status %d" % status)
            self.assertEqual(caught.exception.status, status)
            self.assertIn("task. refused. try another", str(caught.exception))
        self.assertEqual(len(self.requests()), 3)
        for wrong in ({"modus": "check"}, {"reply": "x"}):
            with self.assertRaises(TypeError):
                self.judge("correct 1", **wrong)
        with self.assertRaises(TypeError):
            self.client.judge("axpy")
        with self.assertRaises(ValueError):
            self.judge("correct 1", seconds=float("nan"))

    def test_token(self):
        other = Client(self.address, token="secret")
        other.judge("axpy", "correct 1")
        other.close()
        self.assertEqual(self.server.seen[-1][2].get("Authorization"), "Bearer secret")
        with tempfile.NamedTemporaryFile("w") as file:
            file.write("in a file\n")
            file.flush()
            other = Client(self.address, token=file.name)
            other.judge("axpy", "correct 1")
            other.close()
        self.assertEqual(self.server.seen[-1][2].get("Authorization"), "Bearer in a file")
        self.judge("correct 1")
        self.assertIsNone(self.server.seen[-1][2].get("Authorization"))
        other.close()

    def test_one_connection(self):
        before = self.server.connections
        for _ in range(5):
            self.judge("correct 1")
        self.assertEqual(self.server.connections - before, 1)

    def test_an_idle_connection_that_the_server_closed(self):
        self.assertEqual(self.judge("correct 1 then close").reward, 1.3)
        self.assertEqual(self.judge("correct 2").reward, 2.3)
        self.assertEqual(len(self.requests()), 2)

    def test_any_text_of_a_model(self):
        self.assertEqual(self.judge(" \n").status, "no_source")
        self.assertEqual(self.requests().pop()["reply"], " \n")
        self.server.seen.clear()
        self.client.judge("axpy", reply="correct 1\n\ud800 \0 \U0001f680 \\u0000")
        sent = self.requests()[0]["reply"]
        self.assertEqual(sent, "correct 1\n? \ufffd \U0001f680 \\u0000")

    def test_a_batch(self):
        texts = ["meet 8 correct %d" % (i + 1) for i in range(8)]  # all at the same time
        texts[3] = "meet 8 machine"
        results = self.client.judge_batch({"task": "axpy", "source": text} for text in texts)
        self.assertEqual([r.reward for r in results], [1.3, 2.3, 3.3, None, 5.3, 6.3, 7.3, 8.3])

    def test_async(self):
        async def several():
            jobs = [self.client.judge_async("axpy", "meet 4 correct %d" % i) for i in range(1, 5)]
            return await asyncio.gather(*jobs)

        self.assertEqual([r.reward for r in asyncio.run(several())], [1.3, 2.3, 3.3, 4.3])

    def test_cancelling_closes_the_connection(self):
        async def impatient():
            job = asyncio.ensure_future(self.client.judge_async("axpy", "wait until closed"))
            while not self.requests():
                await asyncio.sleep(0.01)
            job.cancel()
            await job

        with self.assertRaises(asyncio.CancelledError):
            asyncio.run(impatient())
        self.assertTrue(self.server.closed.wait(30))

    def test_fork(self):
        self.judge("correct 1")  # The client has an idle connection and threads.
        self.client.judge_batch([{"task": "axpy", "source": "correct 1"}])
        context = multiprocessing.get_context("fork")
        answers = context.SimpleQueue()

        def child():
            batch = self.client.judge_batch([{"task": "axpy", "source": "correct 2"}])
            answers.put((self.judge("correct 3").reward, batch[0].reward))

        children = [context.Process(target=child) for _ in range(2)]
        for process in children:
            process.start()
        self.assertEqual([answers.get() for _ in children], [(3.3, 2.3)] * 2)
        self.assertEqual(self.judge("correct 4").reward, 4.3)
        for process in children:
            process.join()

    def test_lists(self):
        self.assertEqual(self.client.tasks(), [{"name": "axpy", "family": "blas"}])
        self.assertEqual(self.client.task("a/x y")["name"], "a/x y")
        self.assertEqual(self.client.health()["status"], "starting")

    def command(self, *words, text=""):
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
        environment["KFORGE_SERVER"] = self.address
        done = subprocess.run([sys.executable, "-m", "kforge_client", *words], input=text,
                              env=environment, capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr

    def test_command_line(self):
        status, said = self.command("judge", "axpy", "-", "--reward", "kevin", text="correct 1.5")
        self.assertEqual((status, said.splitlines()[-1]), (0, "reward 1.8"))
        self.assertEqual(self.command("judge", "axpy", "-", text="wrong_result")[0], 1)
        status, said = self.command("judge", "axpy", "-", text="machine")
        self.assertEqual((status, "reward" in said), (3, False))
        status, said = self.command("judge", "axpy", "-", "--json", text="escape")
        self.assertEqual(json.loads(said)["summary"], "\x1b[2J")
        self.assertNotIn("\x1b", self.command("judge", "axpy", "-", text="escape")[1])
        self.assertEqual(self.command("judge", "axpy", "-", text="status 404")[0], 2)
        self.assertEqual(self.command("judge", "axpy", "no such file")[0], 2)
        self.assertEqual(self.command("tasks")[0], 0)


class Starting(unittest.TestCase):
    """A local server: one for all processes, that ends with the last of them."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.addCleanup(self.all_ended)
        self.environment = {**os.environ, "XDG_RUNTIME_DIR": str(self.folder),
                            "PYTHONPATH": str(ROOT / "python"), "PATH": "%s/bin:%s" % (
                                self.folder, os.environ["PATH"])}
        program = self.folder / "bin/kforge"
        program.parent.mkdir()
        program.write_text("#!/bin/sh\nexec '%s' '%s' \"$@\"\n" % (sys.executable, SERVER))
        program.chmod(0o755)

    def all_ended(self):
        """Waits until no server runs."""
        until = time.monotonic() + 60
        while time.monotonic() < until:
            paths = list(self.folder.glob("kforge/*.address"))
            try:
                if not any(path.read_text() for path in paths):
                    return True
            except OSError:
                pass
            time.sleep(0.02)
        return False

    def user(self, text="correct 1", stay=True):
        """Starts a process that judges, prints the reward and the server, and waits."""
        code = ("import kforge_client as k, sys\n"
                "r = k.judge('axpy', %r)\n"
                "print(r.reward, k.health()['pid'], flush=True)\n"
                "%s" % (text, "sys.stdin.read()" if stay else ""))
        return subprocess.Popen([sys.executable, "-c", code], env=self.environment, text=True,
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def said(self, process):
        reward, pid = process.stdout.readline().split()
        self.assertEqual(reward, "1.3")
        return int(pid)

    def end(self, process):
        process.stdin.close()
        process.stdout.close()
        process.wait()

    def gone(self, pid):
        until = time.monotonic() + 60
        while time.monotonic() < until:
            try:
                os.kill(pid, 0)
            except ProcessLookupError:
                return True
            time.sleep(0.02)
        return False

    def test_one_server(self):
        users = [self.user() for _ in range(4)]
        pids = {self.said(user) for user in users}
        self.assertEqual(len(pids), 1)
        pid = pids.pop()
        self.end(users[0])
        users[1].kill()
        users[1].stdout.close()
        users[1].stdin.close()
        users[1].wait()
        late = self.user()
        self.assertEqual(self.said(late), pid)
        for user in users[2:] + [late]:
            os.kill(pid, 0)
            self.end(user)
        self.assertTrue(self.gone(pid))
        other = self.user()
        self.assertNotEqual(self.said(other), pid)
        self.end(other)
        until = time.monotonic() + 60
        while list(self.folder.glob("kforge/*")) and time.monotonic() < until:
            time.sleep(0.02)
        self.assertEqual(list(self.folder.glob("kforge/*")), [])

    def test_many_short_users(self):
        """Users come while a server ends."""
        for _ in range(6):
            users = [self.user(stay=False) for _ in range(3)]
            for user in users:
                self.assertEqual(user.stdout.readline().split()[0], "1.3")
                self.end(user)

    def test_a_token_of_its_own(self):
        user = self.user()
        pid = self.said(user)
        words = pathlib.Path("/proc/%d/cmdline" % pid).read_bytes().split(b"\0")
        path = pathlib.Path(words[words.index(b"--token") + 1].decode())
        self.assertEqual(path.stat().st_mode & 0o777, 0o600)
        self.assertRegex(path.read_text(), "^[0-9a-f]{32}\n$")
        self.end(user)

    def test_kill_of_the_last_user(self):
        user = self.user()
        pid = self.said(user)
        user.kill()
        self.end(user)
        self.assertTrue(self.gone(pid))

    def test_a_server_that_dies(self):
        user = self.user("die then correct 1")
        pid = self.said(user)
        self.end(user)
        self.assertTrue(self.gone(pid))
        self.assertEqual((self.folder / "died").read_text(), "x")

    def test_a_keeper_that_is_killed(self):
        user = self.user()
        pid = self.said(user)
        parent = int(pathlib.Path("/proc/%d/stat" % pid).read_text().split()[3])
        os.kill(parent, signal.SIGKILL)
        self.assertTrue(self.gone(pid))
        other = self.user()
        self.assertNotEqual(self.said(other), pid)
        self.end(user)
        self.end(other)

    def test_a_server_that_does_not_start(self):
        (self.folder / "bin/kforge").write_text("#!/bin/sh\necho 'no such device' >&2\nexit 3\n")
        os.environ["XDG_RUNTIME_DIR"] = str(self.folder)
        self.addCleanup(os.environ.pop, "XDG_RUNTIME_DIR")
        other = Client(command=[str(self.folder / "bin/kforge"), "serve"])
        with self.assertRaises(ServerError) as caught:
            other.judge("axpy", "correct 1")
        self.assertIn("no such device", str(caught.exception))
        other.close()
        with self.assertRaises(ServerError) as caught:
            Client(command=["/no/such/kforge"]).judge("axpy", "correct 1")
        self.assertIn("PATH", str(caught.exception))

    def test_a_folder_that_others_can_open(self):
        os.environ["XDG_RUNTIME_DIR"] = str(self.folder)
        self.addCleanup(os.environ.pop, "XDG_RUNTIME_DIR")
        (self.folder / "kforge").mkdir(mode=0o755)
        os.chmod(self.folder / "kforge", 0o755)
        with self.assertRaises(ServerError):
            local.runtime_folder()
        os.rmdir(self.folder / "kforge")
        (self.folder / "kforge").symlink_to("/tmp")
        with self.assertRaises((ServerError, OSError)):
            local.runtime_folder()

    def test_settings_are_kept_apart(self):
        os.environ["XDG_RUNTIME_DIR"] = str(self.folder)
        self.addCleanup(os.environ.pop, "XDG_RUNTIME_DIR")
        names = set()
        for device in ("cpu", "cuda:0"):
            os.environ["KFORGE_DEVICE"] = device
            names.add(local.LocalServer(["sh"])._base)
        del os.environ["KFORGE_DEVICE"]
        self.assertEqual(len(names), 2)
        # Ray empties CUDA_VISIBLE_DEVICES for workers without a GPU.
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
        self.addCleanup(os.environ.pop, "CUDA_VISIBLE_DEVICES")
        self.assertIn("CUDA_VISIBLE_DEVICES", local._environment())
        os.environ["KFORGE_DEVICE"] = "cuda:3"
        self.addCleanup(os.environ.pop, "KFORGE_DEVICE")
        self.assertNotIn("CUDA_VISIBLE_DEVICES", local._environment())


class Package(unittest.TestCase):
    ADAPTERS = ("trl", "verl", "verifiers", "skyrl", "openenv", "nemo_gym", "harbor")

    def test_adapters_are_short(self):
        for name in self.ADAPTERS:
            path = ROOT / ("python/kforge_%s.py" % name)
            lines = path.read_text().splitlines()
            self.assertLessEqual(len(lines), 60, path)
            self.assertLessEqual(max(map(len, lines)), 100, path)

    def test_the_client_needs_no_package(self):
        code = ("import sys; before = set(sys.modules)\n"
                "import kforge_client, kforge_client.__main__\n"
                "new = {m.split('.')[0] for m in set(sys.modules) - before}\n"
                "known = set(getattr(sys, 'stdlib_module_names', new)) | {'kforge_client'}\n"
                "print(sorted(new - known))")
        done = subprocess.run([sys.executable, "-c", code], text=True, capture_output=True,
                              env={**os.environ, "PYTHONPATH": str(ROOT / "python")})
        self.assertEqual(done.stdout, "[]\n", done.stderr)

    def test_every_module_is_installed(self):
        text = (ROOT / "python/pyproject.toml").read_text()
        for path in (ROOT / "python").glob("kforge_*.py"):
            self.assertIn('"%s"' % path.stem, text)


if __name__ == "__main__":
    unittest.main()
