"""Files that are sent with jobs, without a cluster."""

from __future__ import annotations

import hashlib
import pathlib
import tempfile
import time
import unittest
from unittest import mock

from pigeonsched.errors import PigeonError
from pigeonsched.staging import Stager


class StagerTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="pigeon-python-")
        self.addCleanup(folder.cleanup)
        self.file = pathlib.Path(folder.name) / "data"
        self.file.write_bytes(b"first")
        self.stager = Stager()

    def hashes(self, content: bytes, later: int) -> int:
        """Returns how many files are hashed, by a clock that is some seconds ahead."""
        now = time.time_ns() + later * 1_000_000_000
        with mock.patch("time.time_ns", lambda: now), mock.patch("hashlib.sha256", wraps=hashlib.sha256) as sha256:
            (found,) = self.stager.staged([str(self.file)])
            hashed = sha256.call_count
        self.assertEqual((found.sha256, found.size), (hashlib.sha256(content).hexdigest(), len(content)))
        return hashed

    def test_a_file_is_hashed_again_only_when_it_may_have_changed(self) -> None:
        self.assertEqual([self.hashes(b"first", 3600) for _ in range(3)], [1, 0, 0])
        replaced = self.file.with_name("new")
        replaced.write_bytes(b"other")
        replaced.rename(self.file)
        self.assertEqual([self.hashes(b"other", 3600) for _ in range(2)], [1, 0])
        self.file.write_bytes(b"longer")
        self.assertEqual([self.hashes(b"longer", 3600) for _ in range(2)], [1, 0])

    def test_what_is_larger_than_the_limit_is_not_read(self) -> None:
        with self.file.open("r+b") as f:
            f.truncate(1 << 40)
        with self.assertRaisesRegex(PigeonError, "1099511627776 bytes or more, more than the limit of 10 a job"):
            self.stager.staged([str(self.file)], 10)
        with self.assertRaisesRegex(PigeonError, "takes no staged files"):
            self.stager.staged([str(self.file)], -1)
        two = [self.file.with_name("a"), self.file.with_name("b")]
        for file in two:
            file.write_bytes(b"123456")
        two[1].write_bytes(b"654321")
        with self.assertRaisesRegex(PigeonError, "12 bytes"):
            self.stager.staged([str(file) for file in two], 10)
        two[1].write_bytes(b"123456")  # it is sent once
        self.assertEqual(len(self.stager.staged([str(file) for file in two], 10)), 2)

    def test_a_file_that_was_just_written_is_hashed_each_time(self) -> None:
        self.assertEqual([self.hashes(b"first", -3600) for _ in range(2)], [1, 1])
