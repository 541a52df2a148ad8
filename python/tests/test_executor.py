"""Functions on a real cluster."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import gc
import hashlib
import io
import os
import pickle
import subprocess
import sys
import threading
import time
import unittest
import zlib
from typing import Any
from unittest import mock

from pigeonsched import AsyncClient, AsyncPigeonExecutor, Client, PigeonError, PigeonExecutor, Problem, RemoteError, RemoteTraceback, ResultError
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
def fail_without_text() -> None:
    class SilentError(Exception):
        def __str__(self) -> str:
            raise KeyError("detail")

    raise SilentError


@local
def wait_in_vain() -> None:
    raise TimeoutError("no answer of the database")


@local
def first_of(values: list[int]) -> int:
    return next(iter(values))


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
        # asyncio's conversion of futures makes a new TimeoutError.
        e = raised(TimeoutError, lambda: self.executor.submit(wait_in_vain).result(PATIENCE))
        self.assertIn("in wait_in_vain", str(e.__cause__))
        e = raised(ValueError, lambda: list(self.executor.map(fail, [1, 2], timeout=PATIENCE)))
        self.assertEqual(str(e), "no 1")

    def test_errors_that_cannot_travel(self) -> None:
        e = raised(RemoteError, lambda: self.executor.submit(fail_strangely).result(PATIENCE))
        self.assertIn("OfTheNodeError: odd", str(e))
        e = raised(RemoteError, lambda: self.executor.submit(leave).result(PATIENCE))
        self.assertIn("SystemExit: it leaves", str(e))
        e = raised(Exception, lambda: self.executor.submit(fail_without_text).result(PATIENCE))
        self.assertEqual(type(e).__name__, "SilentError")
        self.assertIn("in fail_without_text", str(e.__cause__))

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

    def test_shutdown_that_cancels_later(self) -> None:
        future = self.executor.submit(time.sleep, 3600)
        self.executor.shutdown(wait=False)
        self.executor.shutdown(cancel_futures=True)
        self.assertTrue(future.cancelled())

    def test_results_of_a_map_outlive_the_executor(self) -> None:
        with PigeonExecutor() as executor:
            results = executor.map(square, range(3), timeout=PATIENCE)
        self.assertEqual(list(results), [0, 1, 4])
        results = self.executor.map(square, range(3), timeout=PATIENCE)
        self.executor.shutdown(wait=False)
        self.assertEqual(list(results), [0, 1, 4])

    def test_a_map_that_is_not_iterated(self) -> None:
        results = self.executor.map(time.sleep, [3600, 3600])
        results.close()  # type: ignore[attr-defined]
        marker = str(self.dev.folder / "dropped")
        self.executor.map(os.mkdir, [marker])
        self.executor.shutdown()
        self.assertEqual((list(results), self.dev.running()), ([], []))
        self.assertTrue(os.path.isdir(marker))

    def test_callbacks_do_not_stop_the_loop(self) -> None:
        maps: list[Any] = []
        errors: list[str] = []

        def callback(f: Any) -> None:
            maps.append(self.executor.map(square, [f.result()], timeout=PATIENCE))
            errors.append(str(raised(RuntimeError, lambda: next(self.executor.map(square, [1])))))
            errors.append(str(raised(RuntimeError, self.executor.shutdown)))
            called.set()

        called = threading.Event()
        self.executor.submit(abs, -3).add_done_callback(callback)
        self.assertTrue(called.wait(PATIENCE))
        self.assertEqual(list(maps[0]), [9])
        self.assertEqual(["cannot wait for its end" in errors[1], "cannot wait for results" in errors[0]], [True, True])

    def test_the_end_of_an_iterator_is_an_error(self) -> None:
        results = self.executor.map(first_of, [[5], [], [7]], timeout=PATIENCE)
        self.assertEqual(next(results), 5)
        e = raised(RemoteError, lambda: next(results))
        self.assertIn("StopIteration", str(e))
        self.assertIsInstance(e.__cause__, RemoteTraceback)

    def test_the_interpreter_waits_at_its_exit(self) -> None:
        for end in ("", "executor.shutdown(wait=False)"):
            marker = str(self.dev.folder / f"exit{len(end)}")
            program = f"import os, pigeonsched\nexecutor = pigeonsched.PigeonExecutor()\nexecutor.submit(os.mkdir, {marker!r})\n{end}\n"
            subprocess.run([sys.executable, "-c", program], env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}, check=True, timeout=PATIENCE)
            self.assertTrue(os.path.isdir(marker))

    def test_a_cancellation_that_fails(self) -> None:
        refused = mock.AsyncMock(side_effect=PigeonError("not now"))
        future = self.executor.submit(time.sleep, 3600)
        with self.assertLogs("pigeonsched", "WARNING") as log, mock.patch("pigeonsched.session.JobSession.cancel", refused):
            while not self.dev.running() and not future.done():
                time.sleep(0.1)
            future.cancel()
            self.executor.shutdown()
        (job,) = self.dev.running()
        self.assertIn(f"job {job} was not cancelled", log.output[0])
        with Client() as client:
            client.job(job).cancel()

    def test_a_dropped_executor_ends_after_its_calls(self) -> None:
        marker = str(self.dev.folder / "held")
        executor = PigeonExecutor()
        thread, future = executor._thread.thread, executor.submit(os.mkdir, marker)
        del executor
        gc.collect()
        self.assertIsNone(future.result(PATIENCE))
        self.assertTrue(os.path.isdir(marker))
        thread.join(PATIENCE)
        self.assertFalse(thread.is_alive())

    def test_wrong_options_leave_nothing_behind(self) -> None:
        before = threading.active_count()
        raised(TypeError, lambda: PigeonExecutor(nonsense=1))
        self.assertEqual(threading.active_count(), before)

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


class JobOfReadyTasks:
    """Stands for a job of which many tasks are ready at once, and the last ones not before its end."""

    id = "ready"

    def __init__(self, futures: list[asyncio.Future[Any]], ready: int, without: frozenset[int] = frozenset()) -> None:
        self.futures, self.ready, self.without = futures, ready, without
        self.found: list[int] = []  # at each wait

    async def wait_for(self, seconds: float) -> Any:
        self.found.append(sum(f.done() for f in self.futures))
        if len(self.found) == 2:
            self.ready = len(self.futures)
        return mock.Mock(ended=len(self.found) == 2, done=self.ready, state="completed")

    async def logs(self, task: int, ended: bool = False) -> bytes:
        if task in self.without:
            raise PigeonError("7 bytes of its stdout are missing", problem=Problem.INTERNAL)
        if task >= self.ready:
            return b""
        data = zlib.compress(pickle.dumps([task]))
        return b"pigeonsched1 value %d %s\n" % (len(data), hashlib.sha256(data).hexdigest().encode()) + data


class ReadyTest(unittest.TestCase):
    def test_all_results_that_are_there_are_fetched(self) -> None:
        async def all_of_it() -> None:
            executor = AsyncPigeonExecutor(AsyncClient("127.0.0.1:1"))
            futures: list[asyncio.Future[Any]] = [asyncio.get_running_loop().create_future() for _ in range(60)]
            job: Any = JobOfReadyTasks(futures, 40)
            await executor._wait(job, futures, lists=False)
            self.assertEqual(job.found, [0, 40])
            self.assertEqual([f.result() for f in futures], list(range(60)))

        asyncio.run(all_of_it())

    def test_an_output_that_is_not_whole_fails_its_own_call(self) -> None:
        async def all_of_it() -> None:
            executor = AsyncPigeonExecutor(AsyncClient("127.0.0.1:1"))
            futures: list[asyncio.Future[Any]] = [asyncio.get_running_loop().create_future() for _ in range(4)]
            job: Any = JobOfReadyTasks(futures, 3, frozenset({1}))
            await executor._wait(job, futures, lists=False)
            self.assertEqual([f.result() for f in futures if f is not futures[1]], [0, 2, 3])
            e = futures[1].exception()
            self.assertIsInstance(e, ResultError)
            self.assertIn("7 bytes of its stdout are missing", str(e))

        asyncio.run(all_of_it())


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
