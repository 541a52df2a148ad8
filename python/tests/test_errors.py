"""Errors that travel between processes."""

from __future__ import annotations

import copy
import pickle
import unittest

from pigeonsched import CallError, JobFailedError, PigeonError, Problem, ResultError, UnknownOutcomeError


class ErrorsTest(unittest.TestCase):
    def test_errors_can_be_pickled(self) -> None:
        errors = [
            PigeonError("no", subject="job 1", tried="asking", advice="wait", problem=Problem.BUSY, retry_after=2.5, address="a:1"),
            CallError("no answer", sent=True, subject="frontend a:1"),
            UnknownOutcomeError("1", "a:1", OSError("gone")),
            JobFailedError("it exited", subject="job 1"),
            ResultError("cut short", problem=Problem.INTERNAL),
        ]
        for e in errors:
            for found in (pickle.loads(pickle.dumps(e)), copy.copy(e)):
                self.assertEqual((type(found), str(found), found.args, vars(found)), (type(e), str(e), e.args, vars(e)))
