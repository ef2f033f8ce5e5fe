"""Tests evaluator/runner/python_calls.c through runner.py: which calls are made, and which results
are recorded without Python. Needs KFORGE_LIBRARIES, the folder of libkfcalls.so."""
import ctypes
import mmap
import os
import types
import unittest

import torch

import load
import output_directory
import runner

SETS = 4
BASE = 0x1000  # the judge counts this much further


class Place:
    kind = "cpu"
    begin_call = None

    @staticmethod
    def results_in():
        return 0, (1 << 64) - 1, BASE

    @staticmethod
    def address(pointer):
        return pointer + BASE

    @staticmethod
    def sampled(_nonce, _calls):
        return {}


class Calls(unittest.TestCase):
    def setUp(self):
        runner.LIBRARIES = os.environ["KFORGE_LIBRARIES"]
        library = runner.load_calls()
        self.runner = r = runner.Runner.__new__(runner.Runner)
        r.make_calls, r.record_calls = library.kf_calls_make, library.kf_calls_record
        r.tensor_and_clone = torch.Tensor, torch.Tensor.clone
        r.torch, r.place, r.kept, r.scalars, r.buffers, r.prepared = torch, Place(), [], {}, {}, {}
        r.begun = None
        self.weight = torch.nn.Parameter(torch.zeros(2, 3))
        self.inputs = [torch.full((2, 3), float(i)) for i in range(SETS)]
        self.weights = [torch.full((2, 3), 10.0 * i) for i in range(SETS)]
        self.prepared = []
        argument = {"shape": [2, 3], "dtype": "f32"}
        r.loaded = types.SimpleNamespace(
            forward=self.forward, copies=False, arguments=[argument] * 2, outputs=range(1, 2),
            load=load, prepare=None,
        )
        r.loaded.prepare = lambda *_: None
        r.prepare = self.prepare
        stride = output_directory.HEAD.size + output_directory.ENTRY.size
        r.open_ledger(mmap.mmap(-1, SETS * stride))
        self.written = []
        write = r.write_ledger
        r.write_ledger = lambda number, result: self.written.append(number) or write(number, result)
        self.seen = []

    def prepare(self, number):
        self.prepared.append(number)
        made = (self.inputs[number],), [(self.weight, self.weights[number])]
        self.runner.prepared[number] = made
        return made

    def forward(self, x):
        self.seen.append(float(x[0, 0] + self.weight[0, 0]))
        return x + self.weight

    def entry(self, number):
        at = number * self.runner.stride
        head = output_directory.HEAD.unpack_from(self.runner.ledger, at)
        behind = at + output_directory.HEAD.size
        return head, output_directory.ENTRY.unpack_from(self.runner.ledger, behind)

    def test_each_call_has_its_arguments(self):
        self.runner.call((2, 0, 2, 3), 0)
        self.assertEqual(self.seen, [22.0, 0.0, 22.0, 33.0])
        self.assertEqual(self.prepared, [2, 0, 3])
        self.assertEqual(self.written, [])
        kept = self.runner.kept[0]
        for number in (0, 2, 3):
            head, entry = self.entry(number)
            self.assertEqual(head, (1, output_directory.FLAW_NONE))
            self.assertEqual(entry[0], kept[number].data_ptr() + BASE)
            self.assertEqual(entry[2:5], (2, 2, 3))
        self.assertEqual(self.entry(1)[1][0], 0)

    def test_unusual_results_are_written_by_python(self):
        for make in (
            lambda x: x.t().contiguous().t(),  # other strides
            lambda x: x.double(),
            lambda x: x[:, :2],
            lambda x: [x],
            lambda x: torch.nn.Parameter(x),
            lambda x: x.to_sparse(),
            lambda x: None,
            lambda x: torch.complex(x, x).conj().imag,
        ):
            self.written.clear()
            self.runner.loaded.forward = make
            self.runner.call((1,), 0)
            self.assertEqual(self.written, [1])
        self.runner.loaded.forward = self.forward
        self.runner.call((1, 2), 0)
        self.assertEqual(self.written, [1, 1])  # its record is no longer as it was
        head, entry = self.entry(1)
        self.assertEqual((head, entry[2:5]), ((1, output_directory.FLAW_NONE), (2, 2, 3)))
        self.assertEqual(entry[0], self.runner.kept[-1][1][0].data_ptr() + BASE)

    def test_what_a_call_raises_comes_back(self):
        def forward(x):
            raise ValueError("of the solution")

        self.runner.loaded.forward = forward
        with self.assertRaisesRegex(ValueError, "of the solution"):
            self.runner.call((0, 1), 0)

    def test_calls_begin_one_after_the_other(self):
        words, turns = (ctypes.c_uint32 * 2)(), []
        begin = ctypes.CFUNCTYPE(None, ctypes.c_uint32)(lambda number: turns.append(number))
        self.runner.place.begin_call = ctypes.cast(begin, ctypes.c_void_p)
        self.runner.begun = ctypes.addressof(words)
        begun = []
        self.runner.loaded.forward = lambda x: begun.append(words[0]) or x + 1
        self.runner.call((3, 1, 2), 0)
        self.assertEqual((begun, turns), ([1, 2, 3], [0, 1, 2]))

    def test_sampled_calls_are_sampled_before_the_next(self):
        samples = []
        self.runner.place.sampled = lambda _nonce, _calls: {1: ["one"], 9: ["none"]}
        self.runner.sample = lambda _nonce, slots, result: samples.append(
            (slots, list(self.seen), float(result[0, 0]))
        )
        self.runner.call((3, 1, 2), 0)
        self.assertEqual(samples, [(["one"], [33.0, 11.0], 11.0)])
        self.assertEqual(self.seen, [33.0, 11.0, 22.0])

    def test_nothing_does_all_but_call(self):
        self.runner.call_nothing((0, 1))
        self.assertEqual(self.seen, [])
        self.assertEqual(float(self.weight[0, 0]), 10.0)
        self.assertEqual(self.entry(1)[1][0], self.runner.nothing.data_ptr() + BASE)


class Rows(unittest.TestCase):
    def test_rows_of_generated_inputs_take_one_descriptor(self):
        r = runner.Runner.__new__(runner.Runner)
        r.rows, r.inputs = {}, (None, None)
        fd, page = os.memfd_create("rows"), mmap.PAGESIZE
        self.addCleanup(os.close, fd)
        os.ftruncate(fd, 600 * page)
        before = len(os.listdir("/proc/self/fd"))
        for row in range(300):
            for argument in range(2):
                offset = (2 * row + argument) * page
                self.assertEqual(r.map_row(row, argument, offset, page, fd), runner.OK)
        self.assertEqual(len(os.listdir("/proc/self/fd")), before + 1)
        r.rows[299][1][:4] = b"last"
        self.assertEqual(os.pread(fd, 4, 599 * page), b"last")
        self.assertEqual(r.map_row(0, 0, 599 * page, 2 * page, fd), runner.BAD_COMMAND)
        other = os.memfd_create("others")
        self.addCleanup(os.close, other)
        os.ftruncate(other, page)
        self.assertEqual(r.map_row(0, 0, 0, page, other), runner.OK)
        r.rows[0][0][:3] = b"new"
        self.assertEqual(os.pread(other, 3, 0), b"new")


if __name__ == "__main__":
    unittest.main()
