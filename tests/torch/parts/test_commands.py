"""Tests evaluator/torch/commands.py: repeats recorded output of programs, and no other output."""
import os
import subprocess
import tempfile
import unittest

import commands


class Commands(unittest.TestCase):
    def setUp(self):
        self.real = subprocess.Popen
        self.addCleanup(setattr, subprocess, "Popen", self.real)

    def asked(self, ask):
        """Tests `ask` with programs that may be started, and with programs that may not."""
        with tempfile.TemporaryDirectory() as top:
            record = commands.record(top)
            first = ask(top)
            subprocess.Popen = self.real
            commands.Answering.answers = record.as_json()

            class Refused(commands.Answering):
                _execute_child = staticmethod(lambda *arguments: (_ for _ in ()).throw(PermissionError(1, "refused")))

            subprocess.Popen = Refused
            try:
                second = ask(top)
            finally:
                subprocess.Popen = self.real
        return first, second

    def same(self, ask):
        first, second = self.asked(ask)
        self.assertEqual(first, second)
        return first

    def test_the_usual_ways_of_asking(self):
        self.assertEqual(self.same(lambda top: subprocess.check_output(["echo", "a"])), b"a\n")
        self.assertEqual(self.same(lambda top: subprocess.check_output("echo a; echo b >&2", shell=True, stderr=subprocess.STDOUT, text=True)), "a\nb\n")
        self.assertEqual(self.same(lambda top: subprocess.getstatusoutput("exit 3")), (3, ""))
        self.assertEqual(self.same(lambda top: subprocess.call(["false"])), 1)
        self.assertEqual(self.same(lambda top: subprocess.check_call(["true"], stdout=subprocess.DEVNULL)), 0)

        def run(top):
            done = subprocess.run(["sh", "-c", "printf '\\377'; exit 2"], capture_output=True)
            return done.returncode, done.stdout, done.stderr

        self.assertEqual(self.same(run), (2, b"\xff", b""))

        def by_hand(top):
            with subprocess.Popen(["echo", "c"], stdout=subprocess.PIPE) as process:
                out, _ = process.communicate(timeout=10)
            return out, process.wait(), process.poll(), process.returncode

        self.assertEqual(self.same(by_hand), (b"c\n", 0, 0, 0))

    def test_failures_are_the_same(self):
        def missing(top):
            try:
                subprocess.check_output(["no-such-program", "--version"])
            except FileNotFoundError as error:
                return str(error)

        self.assertIn("no-such-program", self.same(missing))

        def failing(top):
            try:
                subprocess.check_output(["sh", "-c", "echo why; exit 1"])
            except subprocess.CalledProcessError as error:
                return error.returncode, error.output

        self.assertEqual(self.same(failing), (1, b"why\n"))

    def refused(self, ask):
        with self.assertRaises(PermissionError):
            self.asked(ask)

    def test_others_are_refused(self):
        count = iter(range(100))
        self.refused(lambda top: subprocess.check_output(["echo", str(next(count))]))
        self.refused(lambda top: subprocess.run(["cat"], input=b"x", stdout=subprocess.PIPE))
        self.refused(lambda top: subprocess.check_output(["head", "-c", str(commands.OUTPUT_BYTES + 1), "/dev/zero"]))

        def to_a_file(top):
            with open(os.path.join(top, "out"), "wb") as file:
                return subprocess.call(["echo", "x"], stdout=file)

        self.refused(to_a_file)

        def read_by_hand(top):
            with subprocess.Popen(["echo", "x"], stdout=subprocess.PIPE) as process:
                return process.stdout.read()

        self.refused(read_by_hand)

    def test_a_command_that_writes_has_written_the_same_or_is_refused(self):
        self.same(lambda top: subprocess.check_call(["sh", "-c", "echo x > %s/made" % top]))

        def another(top):
            for word in ("x", "y"):
                with open(os.path.join(top, "source"), "w") as file:
                    file.write(word)
                subprocess.check_call(["cp", top + "/source", top + "/made"])

        self.refused(another)


if __name__ == "__main__":
    unittest.main()
