"""Output that its node did not keep whole."""

from __future__ import annotations

import asyncio
import unittest
from types import SimpleNamespace
from typing import Any
from unittest import mock

from pigeonsched import PigeonError
from pigeonsched.session import JobSession


class OutputTest(unittest.TestCase):
    def test_a_gap_is_an_error(self) -> None:
        job = JobSession(mock.Mock(), "j", mock.Mock(), "")
        pieces = [SimpleNamespace(data=b"head", size=100, ended=True, missing=0, why="", attempt=1), SimpleNamespace(data=b"", size=100, ended=True, missing=60, why="no room", attempt=1)]
        with mock.patch.object(job, "_ask", mock.AsyncMock(side_effect=pieces)):
            with self.assertRaises(PigeonError) as caught:
                asyncio.run(job.logs(2))
        self.assertIn("task 2 of job j: 60 bytes of its stdout are missing from byte 4 on: no room", str(caught.exception))

    def test_a_task_that_writes_faster_than_it_is_read(self) -> None:
        job = JobSession(mock.Mock(), "j", mock.Mock(), "")
        written = 1000  # before the first call; ten more bytes before each other one

        async def ask(method: str, job: str, task: int, attempt: int, stream: str, offset: int, limit: int, **_: Any) -> SimpleNamespace:
            nonlocal written
            size, written = written, written + 10
            if size > 5000:
                raise AssertionError("the end of the output is not reached")
            return SimpleNamespace(data=b"x" * min(size - offset, 400), size=size, ended=False, missing=0, why="", attempt=1)

        with mock.patch.object(job, "_ask", ask):
            self.assertEqual(len(asyncio.run(job.logs())), 1020)

    def test_outputs_of_two_attempts_are_not_mixed(self) -> None:
        """Attempt 2 has begun and has written as much as was read of attempt 1."""
        job = JobSession(mock.Mock(), "j", mock.Mock(), "")

        def piece(data: bytes, attempt: int) -> SimpleNamespace:
            return SimpleNamespace(data=data, size=9, ended=False, missing=0, why="", attempt=attempt)

        pieces = [piece(b"first", 1), piece(b"ond\n", 2), piece(b"second\n", 2), piece(b"", 2)]
        with mock.patch.object(job, "_ask", mock.AsyncMock(side_effect=pieces)) as ask:
            self.assertEqual(asyncio.run(job.logs(0)), b"second\n")
        self.assertEqual([call.args[5] if len(call.args) > 5 else None for call in ask.call_args_list], [0, 5, 0, 7])

        async def follow() -> list[bytes]:
            return [data async for data in job.follow(0, "stdout")]

        with mock.patch.object(job, "_ask", mock.AsyncMock(side_effect=pieces)), mock.patch.object(job, "wait_for", mock.AsyncMock(return_value=SimpleNamespace(state="completed", ended=True, tasks=1))):
            with self.assertLogs("pigeonsched", "WARNING") as logs:
                self.assertEqual(asyncio.run(follow()), [b"first", b"second\n"])
        self.assertIn("the stdout of attempt 2 follows", logs.output[0])
