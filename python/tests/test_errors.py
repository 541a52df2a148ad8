"""Errors that travel between processes."""

from __future__ import annotations

import copy
import decimal
import functools
import pickle
import unittest
from typing import Any

from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.Thrift import TMessageType
from thrift.transport.TTransport import TMemoryBuffer

from pigeonsched import CallError, Command, JobFailedError, JobOptions, PigeonError, Problem, ResultError, UnknownOutcomeError, wire
from pigeonsched.client import commands_of
from pigeonsched.gen.published import SchedulerService
from tests.cluster import raised


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


class RefusalTest(unittest.TestCase):
    def test_a_refusal_can_be_reported(self) -> None:
        buffer = TMemoryBuffer()
        protocol = TBinaryProtocol(buffer)
        protocol.writeMessageBegin("submit", TMessageType.REPLY, 1)
        service: Any = SchedulerService
        service.submit_result(e=wire.types.TPigeonException(what="no")).write(protocol)
        e: Any = raised(PigeonError, lambda: wire.decode("submit", buffer.getvalue()))
        self.assertEqual(e.what, "no")
        while e is not None:  # as unittest and pytest do
            e.__traceback__ = None
            e = e.__context__


def _request(command: Any, tasks: Any, env: Any) -> Any:
    return wire.request(commands_of(command, tasks, env), 0.0, 1, JobOptions(), "ann")


class ValuesTest(unittest.TestCase):
    """What no job can have is refused by its name, before anything is sent."""

    def test_options(self) -> None:
        for name, value, error, want in [
            ("memory", "2G", TypeError, "memory is '2G': give a whole number, of bytes"),
            ("memory", 1 << 63, PigeonError, "memory is 9223372036854775808, which has more than 64 bits"),
            ("priority", 1 << 40, PigeonError, "priority is 1099511627776, which has more than 32 bits"),
            ("retries", 1.5, TypeError, "retries is 1.5: give a whole number"),
            ("estimate", "1s", TypeError, "estimate is '1s': give a number, of seconds"),
            ("estimate", float("nan"), PigeonError, "estimate is nan"),
            ("time_limit", float("inf"), PigeonError, "time_limit is inf"),
            ("max_disconnect", 1e300, PigeonError, "max_disconnect is 1e+300"),
            ("cpus", None, TypeError, "cpus is None: give a number"),
        ]:
            options: dict[str, Any] = {name: value}
            with self.subTest(name, value=value):
                self.assertIn(want, str(raised(error, functools.partial(JobOptions, **options))))

    def test_programs(self) -> None:
        anything: Any = ["env", b"x"]
        text: Any = "A=1"
        for command, env, tasks, error, want in [
            (["echo", b"x"], None, 1, TypeError, "an argument is b'x': give text"),
            (["echo", None], None, 1, TypeError, "an argument is None"),
            (["env"], {"A": None}, 1, TypeError, "variable A is None: give text"),
            (["env"], {"A=B": "c"}, 1, PigeonError, "'A=B' is no name of a variable"),
            (["env"], {"": "c"}, 1, PigeonError, "'' is no name of a variable"),
            ([Command(anything, {})], None, 1, TypeError, "an argument is b'x'"),
            ([], None, 1, PigeonError, "there is no program to run"),
            (["env"], None, 2.0, TypeError, "tasks is 2.0: give a whole number"),
            ("echo x", None, 1, TypeError, "this is 'echo x'"),
            (b"echo x", None, 1, TypeError, "this is b'echo x'"),
            ([Command("echo x")], None, 1, TypeError, "this is 'echo x'"),
            (["env"], ["A=1"], 1, TypeError, "the environment of a program is list: give a mapping"),
            ([Command(["env"], text)], None, 1, TypeError, "the environment of a program is str"),
        ]:
            given: Any = command
            variables: Any = env
            number: Any = tasks
            with self.subTest(command=command, env=env):
                self.assertIn(want, str(raised(error, functools.partial(_request, given, number, variables))))
        with self.assertRaisesRegex(PigeonError, "200000 tasks are outside 1 to 100000"):
            commands_of(["env"], 200_000, None)
        with self.assertRaisesRegex(PigeonError, "the sleep is inf"):
            wire.request([], float("inf"), 1, JobOptions(), "ann")
        r = _request(["echo", 1], 2, {"A": 1})
        self.assertEqual((r.tasks[1].process.argv, r.tasks[1].process.env), (["echo", "1"], ["A=1"]))
        self.assertEqual(_request(iter(["echo", 1]), 1, {}).tasks[0].process.argv, ["echo", "1"])
        self.assertEqual(len(_request((Command(["true"]) for _ in range(3)), 1, None).tasks), 3)
        exact: Any = decimal.Decimal("1.5")
        self.assertEqual(wire.request([], 0.0, 1, JobOptions(estimate=exact), "ann").estimateNanos, 1_500_000_000)
