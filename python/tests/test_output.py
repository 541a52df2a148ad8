"""Output that its node did not keep whole."""

from __future__ import annotations

import asyncio
import unittest
from types import SimpleNamespace
from unittest import mock

from pigeonsched import PigeonError
from pigeonsched.session import JobSession


class OutputTest(unittest.TestCase):
    def test_a_gap_is_an_error(self) -> None:
        job = JobSession(mock.Mock(), "j", mock.Mock(), "")
        pieces = [SimpleNamespace(data=b"head", size=100, ended=True, missing=0, why=""), SimpleNamespace(data=b"", size=100, ended=True, missing=60, why="no room")]
        with mock.patch.object(job, "_ask", mock.AsyncMock(side_effect=pieces)):
            with self.assertRaises(PigeonError) as caught:
                asyncio.run(job.logs(2))
        self.assertIn("task 2 of job j: 60 bytes of its stdout are missing from byte 4 on: no room", str(caught.exception))
