"""Tests evaluator/torch/compiled.py: the message for a failure."""
import unittest

import compiled

COMPILER = """CppCompileError: C++ compile error

Command:
g++ -x c++-header /tmp/a.h -O3 %s

Output:
In file included from /tmp/a.h:1:
/tmp/b.h: In member function 'operator<=':
/tmp/b.h:10:3: warning: unused variable
/tmp/b.h:12:1: fatal error: no room for   a file
compilation terminated.
""" % ("-I/some/folder " * 40)


class Words(unittest.TestCase):
    def test_of_a_compiler_the_first_error_is_told(self):
        self.assertEqual(compiled.words_of(RuntimeError(COMPILER)), "CppCompileError: C++ compile error /tmp/b.h:12:1: fatal error: no room for a file")

    def test_others_are_one_short_line(self):
        self.assertEqual(compiled.words_of(ValueError("no lowering\n  for this\n")), "no lowering for this")
        self.assertEqual(compiled.words_of(ValueError("")), "")
        self.assertEqual(len(compiled.words_of(ValueError("long\nword " * 200))), compiled.MOST_WORDS)


if __name__ == "__main__":
    unittest.main()
