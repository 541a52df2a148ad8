"""Functions on a real cluster."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import io
import os
import sys
import time
from typing import Any
from unittest import mock

from pigeonsched import AsyncPigeonExecutor, PigeonExecutor, RemoteError, RemoteTraceback, ResultError
from tests.cluster import PATIENCE, WithCluster, raised


def local(fn: Any) -> Any:
    """Makes cloudpickle send a function of this module by value, as one of __main__: nodes cannot import it."""
    fn.__module__ = "__main__"
    return fn


@local
def square(x: int) -> int:
    print("a function may print")
    return x * x


@local
def fail(x: int) -> None:
    raise ValueError(f"no {x}")


@local
def fail_strangely() -> None:
    class OfTheNodeError(Exception):
        def __reduce__(self) -> Any:
            raise TypeError("it stays here")

    raise OfTheNodeError("odd")


@local
def leave() -> None:
    sys.exit("it leaves")


class ExecutorTest(WithCluster):
    def setUp(self) -> None:
        self.executor = PigeonExecutor()
        self.addCleanup(self.executor.shutdown, cancel_futures=True)

    def test_submit(self) -> None:
        futures = [self.executor.submit(square, i) for i in range(5)]
        self.assertEqual({f.result() for f in concurrent.futures.as_completed(futures, PATIENCE)}, {0, 1, 4, 9, 16})
        self.assertEqual(self.executor.submit(pow, 2, exp=10).result(PATIENCE), 1024)

    def test_the_name_is_that_of_the_function(self) -> None:
        self.executor.submit(square, 1).result(PATIENCE)
        self.assertIn("square", self.dev.pigeon("status", "-o", "json"))

    def test_map(self) -> None:
        self.assertEqual(list(self.executor.map(square, range(23), chunksize=4, timeout=PATIENCE)), [i * i for i in range(23)])
        self.assertEqual(list(self.executor.map(pow, [2, 3], [3, 2], timeout=PATIENCE)), [8, 9])
        self.assertEqual(list(self.executor.map(square, [])), [])

    def test_map_shows_progress(self) -> None:
        errors = io.StringIO()
        with mock.patch.dict(sys.modules, {"tqdm": None, "tqdm.auto": None}), contextlib.redirect_stderr(errors):
            self.assertEqual(list(self.executor.map(square, range(4), progress=True, timeout=PATIENCE)), [0, 1, 4, 9])
        self.assertIn("square: 4 of 4 tasks", errors.getvalue())

    def test_results_of_a_map_come_while_it_runs(self) -> None:
        results = self.executor.map(time.sleep, [0, 3600], timeout=PATIENCE)
        self.assertIsNone(next(results))
        results.close()  # type: ignore[attr-defined] # what is left is cancelled
        self.executor.shutdown()
        self.assertEqual(self.dev.running(), [])

    def test_errors_keep_their_traceback(self) -> None:
        e = raised(ValueError, lambda: self.executor.submit(fail, 7).result(PATIENCE))
        self.assertEqual(str(e), "no 7")
        self.assertIsInstance(e.__cause__, RemoteTraceback)
        self.assertIn("in fail", str(e.__cause__))
        e = raised(ValueError, lambda: list(self.executor.map(fail, [1, 2], timeout=PATIENCE)))
        self.assertEqual(str(e), "no 1")

    def test_errors_that_cannot_travel(self) -> None:
        e = raised(RemoteError, lambda: self.executor.submit(fail_strangely).result(PATIENCE))
        self.assertIn("OfTheNodeError: odd", str(e))
        e = raised(RemoteError, lambda: self.executor.submit(leave).result(PATIENCE))
        self.assertIn("SystemExit: it leaves", str(e))

    def test_bounds(self) -> None:
        noise = os.urandom(760_000)
        self.assertEqual(self.executor.submit(bytes.upper, noise).result(PATIENCE), noise.upper())
        self.assertEqual(len(self.executor.submit(os.urandom, 5_000_000).result(PATIENCE)), 5_000_000)
        e = raised(ResultError, lambda: self.executor.submit(len, os.urandom(800_000)))
        self.assertIn("1048576 are the limit", str(e))
        e = raised(RuntimeError, lambda: self.executor.submit(os.urandom, 17_000_000).result(PATIENCE))
        self.assertIn("16777216 are the limit", str(e))

    def test_a_function_of_main_needs_cloudpickle(self) -> None:
        with mock.patch.dict(sys.modules, {"cloudpickle": None}):
            e = raised(ResultError, lambda: self.executor.submit(square, 1))
            self.assertIn("pip install cloudpickle", str(e))
            self.assertEqual(self.executor.submit(pow, 2, 3).result(PATIENCE), 8)

    def test_another_python(self) -> None:
        with mock.patch("pigeonsched.payload.sys.version_info", (3, 1)):
            future = self.executor.submit(pow, 2, 3)
        self.assertIn("sent by Python 3.1", str(raised(RuntimeError, lambda: future.result(PATIENCE))))

    def test_a_python_that_is_not_there(self) -> None:
        with PigeonExecutor(python="/no/such/python") as executor:
            e = raised(ResultError, lambda: executor.submit(pow, 2, 3).result(PATIENCE))
            self.assertIn("/no/such/python", str(e))

    def test_an_answer_cut_short(self) -> None:
        e = raised(ResultError, lambda: self.executor.submit(os._exit, 0).result(PATIENCE))
        self.assertIn("no answer of a function", str(e))

    def test_cancel(self) -> None:
        future = self.executor.submit(time.sleep, 3600)
        self.assertTrue(future.cancel())
        self.executor.shutdown()
        self.assertEqual(self.dev.running(), [])

    def test_shutdown(self) -> None:
        future = self.executor.submit(square, 3)
        self.executor.shutdown()
        self.assertEqual(future.result(0), 9)
        raised(RuntimeError, lambda: self.executor.submit(square, 3))

    def test_shutdown_that_cancels(self) -> None:
        future = self.executor.submit(time.sleep, 3600)
        self.executor.shutdown(cancel_futures=True)
        self.assertTrue(future.cancelled())

    def test_a_failed_try_is_not_the_result(self) -> None:
        marker = str(self.dev.folder / "tried")

        @local
        def second_time() -> str:
            if os.path.exists(marker):
                return "done"
            open(marker, "w").close()
            raise OSError("the first time")

        with PigeonExecutor(retries=1) as executor:
            self.assertEqual(executor.submit(second_time).result(PATIENCE), "done")

    def test_limit_of_calls(self) -> None:
        with mock.patch("pigeonsched.aioexecutor.MAX_CALLS", 2):
            e = raised(Exception, lambda: self.executor.map(square, range(5)))
        self.assertIn("the limit of an executor", str(e))


class AsyncExecutorTest(WithCluster):
    def test_all(self) -> None:
        asyncio.run(asyncio.wait_for(self._all(), PATIENCE))

    async def _all(self) -> None:
        async with AsyncPigeonExecutor() as executor:
            self.assertEqual(await asyncio.gather(*(executor.submit(square, i) for i in range(4))), [0, 1, 4, 9])
            self.assertEqual([x async for x in executor.map(square, range(7), chunksize=2)], [i * i for i in range(7)])
            with self.assertRaises(ValueError) as failed:
                await executor.submit(fail, 1)
            self.assertIsInstance(failed.exception.__cause__, RemoteTraceback)
            slow = executor.submit(time.sleep, 3600)
            slow.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await slow
        self.assertEqual(self.dev.running(), [])
