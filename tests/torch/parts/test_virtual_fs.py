"""Tests evaluator/torch/virtual_fs.py: the replacement for renaming if the system refuses it."""
import os
import tempfile
import unittest

import virtual_fs


def refuse(source, target):
    raise PermissionError(1, "refused")


class Renaming(unittest.TestCase):
    def test_a_file_is_there_by_its_new_name(self):
        with tempfile.TemporaryDirectory() as top:
            source, target = os.path.join(top, "temporary"), os.path.join(top, "kept")
            for content in (b"one", b"another"):
                with open(source, "wb") as file:
                    file.write(content)
                virtual_fs._copied(refuse)(source, target)
                with open(target, "rb") as file:
                    self.assertEqual(file.read(), content)

    def test_where_it_is_not_refused_it_is_renamed(self):
        with tempfile.TemporaryDirectory() as top:
            source, target = os.path.join(top, "temporary"), os.path.join(top, "kept")
            open(source, "w").close()
            virtual_fs._copied(os.replace)(source, target)
            self.assertEqual(os.listdir(top), ["kept"])

    def test_of_what_is_not_there_the_error_is_the_same(self):
        with self.assertRaises(FileNotFoundError):
            virtual_fs._copied(os.replace)("/nowhere/a", "/nowhere/b")
        with self.assertRaises(OSError):
            virtual_fs._copied(refuse)("/", "/nowhere/b")


if __name__ == "__main__":
    unittest.main()
