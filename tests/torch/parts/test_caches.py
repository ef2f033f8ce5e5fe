"""Tests evaluator/torch/caches.py: the files of a dry run, and forged files in their place."""
import json
import os
import shutil
import struct
import tempfile
import unittest
from unittest import mock

import caches


def written(files, content=b"", top="/tmp", commands=None, head=None):
    files = [entry + [0] if isinstance(entry, list) and len(entry) == 3 else entry for entry in files]
    text = head if head is not None else json.dumps({"top": top, "files": files, "commands": commands or {}}).encode()
    return b"kfc2" + struct.pack("<Q", len(text)) + text + content


class Caches(unittest.TestCase):
    def setUp(self):
        self.top = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.top)
        self.one, self.other = os.path.join(self.top, "one"), os.path.join(self.top, "two")
        os.mkdir(self.one)
        os.mkdir(self.other)

    def put(self, name, content):
        path = os.path.join(self.one, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(content)
        return path

    def there(self):
        return sorted(os.path.relpath(os.path.join(folder, name), self.other) for folder, folders, names in os.walk(self.other) for name in folders + names)

    def test_files_and_folders_are_there_again(self):
        os.chmod(self.put("a/b/program", b"#!"), 0o755)
        self.put(".hidden/x.json", json.dumps({"path": self.one + "/a/b/program"}).encode())
        os.mkdir(os.path.join(self.one, "empty"))
        data, files, left_out = caches.pack(self.one, {"key": {"code": 0}})
        self.assertEqual((files, left_out), (2, 0))
        self.assertEqual(caches.unpack(data, self.other), {"key": {"code": 0}})
        self.assertEqual(self.there(), [".hidden", ".hidden/x.json", "a", "a/b", "a/b/program", "empty"])
        self.assertTrue(os.access(os.path.join(self.other, "a/b/program"), os.X_OK))
        with open(os.path.join(self.other, ".hidden/x.json")) as file:  # both folders' names have the same length
            self.assertEqual(json.load(file)["path"], self.other + "/a/b/program")

    def test_what_is_no_file_or_too_large_is_left_out(self):
        os.symlink("/", os.path.join(self.one, "link"))
        os.symlink("/etc", os.path.join(self.one, "folder"))
        os.mkfifo(os.path.join(self.one, "pipe"))
        self.put(caches.SCRATCH + "1/x", b"x")
        with open(self.put("sparse", b""), "wb") as file:
            file.truncate(caches.FILE_BYTES + 1)
        self.put("small", b"y")
        data, files, left_out = caches.pack(self.one, {})
        self.assertEqual((files, left_out), (1, 1))
        caches.unpack(data, self.other)
        self.assertEqual(self.there(), ["small"])

    def test_links_to_files_are_files(self):
        self.put("librelu.so.1", b"code")
        os.symlink("librelu.so.1", os.path.join(self.one, "librelu.so"))
        os.symlink("../two", os.path.join(self.one, "outside"))
        os.symlink("nothing", os.path.join(self.one, "nowhere"))
        caches.unpack(caches.pack(self.one, {})[0], self.other)
        self.assertEqual(self.there(), ["librelu.so", "librelu.so.1"])
        with open(os.path.join(self.other, "librelu.so"), "rb") as file:
            self.assertEqual(file.read(), b"code")

    def test_times_are_as_they_were(self):
        for name, when in (("source", 5_000_000_000), ("built", 6_000_000_001)):
            os.utime(self.put(name, b"x"), ns=(when, when))
        caches.unpack(caches.pack(self.one, {})[0], self.other)
        self.assertEqual([os.stat(os.path.join(self.other, name)).st_mtime_ns for name in ("source", "built")], [5_000_000_000, 6_000_000_001])
        caches.unpack(written([["far", 1, 0o644, 1 << 80]], b"x"), self.other)
        self.assertIn("far", self.there())

    def test_order_of_times_is_kept_where_times_cannot_be_set(self):
        """Without a mount namespace, a runner's filter denies utimensat (sandbox/seccomp.c)."""
        times = {"a/built": 6_000_000_001, "b/source": 6_000_000_000, "c/oldest": 5_000_000_000}
        for name, when in times.items():
            os.utime(self.put(name, name.encode()), ns=(when, when))
        data = caches.pack(self.one, {})[0]
        with mock.patch.object(os, "utime", side_effect=PermissionError):
            caches.unpack(data, self.other)
        found = {name: os.stat(os.path.join(self.other, name)).st_mtime_ns for name in times}
        self.assertLess(found["c/oldest"], found["b/source"])
        self.assertLess(found["b/source"], found["a/built"])
        for name in times:
            with open(os.path.join(self.other, name), "rb") as file:
                self.assertEqual(file.read(), name.encode())

    def test_many_files_whose_times_cannot_be_set_do_not_take_long(self):
        files = [["file%d" % number, 1, 0o644, number] for number in range(2000)]
        with mock.patch.object(os, "utime", side_effect=PermissionError), mock.patch.object(caches.time, "sleep") as sleep:
            caches.unpack(written(files, b"x" * 2000), self.other)
        self.assertEqual(len(self.there()), 2000)
        self.assertLessEqual(sleep.call_count * caches.TICK_SECONDS, caches.MOST_TICK_SECONDS)

    def test_a_folder_may_be_left_out(self):
        self.put("job/plans.json", b"{}")
        self.put("triton/x", b"x")
        caches.unpack(caches.pack(self.one, {}, without=os.path.join(self.one, "job"))[0], self.other)
        self.assertEqual(self.there(), ["triton", "triton/x"])

    def test_all_together_are_bounded(self):
        for number in range(4):
            with open(self.put("%d" % number, b""), "wb") as file:
                file.truncate(caches.FILE_BYTES)
        data, files, left_out = caches.pack(self.one, {})
        self.assertEqual((files, left_out), (2, 2))
        self.assertLess(len(data), caches.MOST_BYTES + (1 << 20))
        for number in range(caches.MOST_FILES + 10):
            self.put("many/%d" % number, b"")
        self.assertEqual(len(json.loads(caches.pack(self.one, {})[0][12:].split(b"\0")[0])["files"]), caches.MOST_FILES)

    def test_names_stay_in_the_folder(self):
        for name in ("../x", "/x", "a/../../x", "a/..", "..", ".", "", "/", "a//b", "./a", "a\0b", "x" * 2000, 5, None, ["a"]):
            for folder in ("", "/"):
                entry = name + folder if isinstance(name, str) else name
                with self.assertRaises(ValueError, msg=repr(entry)):
                    caches.unpack(written([[entry, 1, 0o644]], b"x"), self.other)
        self.assertEqual(sorted(os.listdir(self.top)), ["one", "two"])
        self.assertEqual(self.there(), [])

    def test_nothing_that_is_there_is_touched(self):
        os.symlink(os.path.join(self.top, "outside"), os.path.join(self.other, "link"))
        caches.unpack(written([["link", 1, 0o644]], b"x"), self.other)
        self.assertFalse(os.path.exists(os.path.join(self.top, "outside")))

    def test_what_breaks_the_format_is_refused(self):
        good = written([["a", 3, 0o644]], b"abc")
        for cut in range(len(good)):
            with self.assertRaises(ValueError):
                caches.unpack(good[:cut], self.other)
        for data in (
            b"",
            b"x" * 100,
            b"kfc2" + b"\xff" * 100,
            written([], head=b"[]"),
            written([], head=b"{}"),
            written([], head=b"\xff"),
            written([], head=b"[" * 20000),
            written([["a", -1, 0]]),
            written([["a", 1 << 70, 0]]),
            written([["a", 0, "x"]]),
            written([["a", 0]]),
            written([["a", 0, 0, "x"]]),
            written([["a", 0, 0, None]]),
            written([["a%d" % i, 0, 0] for i in range(caches.MOST_FILES + 1)]),
        ):
            with self.assertRaises((ValueError, RecursionError)):
                caches.unpack(data, self.other)


if __name__ == "__main__":
    unittest.main()
