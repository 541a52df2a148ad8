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
import signal
import subprocess
import sys
import threading
import time
import unittest
import warnings
import zlib
from typing import Any
from unittest import mock

from pigeonsched import AsyncClient, AsyncPigeonExecutor, Client, PigeonError, PigeonExecutor, Problem, RemoteError, RemoteTraceback, ResultError, payload
from pigeonsched.aioexecutor import MAX_CALLS, Map
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


@local
def fork(marker: str, end: str) -> str:
    if os.fork() == 0:
        if end == "raise":
            raise ValueError("of the child")
        if end == "exit":
            sys.exit(5)
        return "child"
    status = os.waitstatus_to_exitcode(os.wait()[1])
    with open(marker, "a") as f:
        f.write("call\n")
    return f"parent, {status}"


@local
def value_of_the_node() -> Any:
    import collections

    module: Any = type(sys)("only_on_the_node")
    module.make = collections.OrderedDict  # found by its name, on the node alone
    sys.modules["only_on_the_node"] = module

    class Value:
        def __reduce__(self) -> Any:
            return make, ()

    def make() -> None: ...

    make.__module__, make.__qualname__ = "only_on_the_node", "make"
    module.make = make
    return Value()


class NotUnpickled:
    """Its class is here, and what it needs when it is read is not on the nodes."""

    def __init__(self, module: str) -> None:
        self.module = module

    def __reduce__(self) -> Any:
        return __import__, (self.module,)


@local
def needs_a_module() -> None:
    __import__("no_such_module.part")


@local
def tiny(x: int) -> tuple[int, str]:
    return x, os.environ["PIGEON_TASK"] + " " + os.environ["PIGEON_JOB"]


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

    def test_a_function_that_forks(self) -> None:
        """Only the process that began answers, and makes the calls that follow."""
        for end, status in (("return", 0), ("raise", 1), ("exit", 5)):
            marker = str(self.dev.folder / f"fork-{end}")
            self.assertEqual(self.executor.submit(fork, marker, end).result(PATIENCE), f"parent, {status}")
            self.assertEqual(list(self.executor.map(fork, [marker] * 3, [end] * 3, chunksize=3, timeout=PATIENCE)), [f"parent, {status}"] * 3)
            with open(marker) as f:
                self.assertEqual(f.read(), "call\n" * 4)

    def test_a_result_that_does_not_unpickle(self) -> None:
        e = raised(ResultError, lambda: self.executor.submit(value_of_the_node).result(PATIENCE))
        self.assertIn("the function has returned, and its result cannot be unpickled here: ModuleNotFoundError", str(e))
        self.assertIn("install only_on_the_node here", e.advice)
        self.assertIsInstance(e.__cause__, ModuleNotFoundError)

    def test_a_result_that_does_not_pickle(self) -> None:
        e = raised(ResultError, lambda: self.executor.submit(local(lambda: threading.Lock())).result(PATIENCE))
        self.assertIn("the result cannot be pickled: TypeError", str(e))

    def test_a_function_that_does_not_unpickle(self) -> None:
        e = raised(ResultError, lambda: self.executor.submit(str, NotUnpickled("no_such_module.part")).result(PATIENCE))
        self.assertIn("cannot be unpickled by", str(e))
        self.assertIn("install no_such_module for that Python on the nodes", e.advice)
        self.assertIn("No module named 'no_such_module'", str(e.__cause__))

    def test_a_module_that_the_node_lacks(self) -> None:
        e = raised(ModuleNotFoundError, lambda: self.executor.submit(needs_a_module).result(PATIENCE))
        self.assertIn("install no_such_module there", str(e))

    def test_map_chooses_chunks(self) -> None:
        calls = range(300)
        results = list(self.executor.map(tiny, calls, timeout=PATIENCE))
        self.assertEqual([x for x, _ in results], list(calls))
        first, rest = {task for _, task in results[:32]}, {task for _, task in results[32:]}
        self.assertEqual(len(first), 16)
        self.assertLess(len(rest), len(calls) - 32)
        with self.assertRaises(PigeonError) as refused:
            self.executor.map(tiny, range(1_000_001))
        self.assertIn("more than 1000000 calls", str(refused.exception))

    def test_map_that_chooses_chunks_can_be_ended(self) -> None:
        results = self.executor.map(time.sleep, [3600] * 100)
        results.close()  # type: ignore[attr-defined]
        self.executor.shutdown()
        self.assertEqual((list(results), self.dev.running()), ([], []))

    def test_ctrl_c(self) -> None:
        """It cancels what the executor submitted, and says so: in the block, after it, and without one."""
        begin = "import time, pigeonsched\n"
        for program, said in (
            ("with pigeonsched.PigeonExecutor() as e:\n  e.submit(time.sleep, 3600).result()", "interrupted: cancelling"),
            ("e = pigeonsched.PigeonExecutor()\ne.submit(time.sleep, 3600).result()", "interrupted: cancelling"),
            ("with pigeonsched.PigeonExecutor() as e:\n  list(e.map(time.sleep, [3600] * 3))", "cancelled: "),
            ("e = pigeonsched.PigeonExecutor()\ne.submit(time.sleep, 3600)", "waiting before the exit"),
            ("e = pigeonsched.PigeonExecutor()\ne.submit(time.sleep, 3600)\ne.shutdown()", "interrupted: cancelling"),
        ):
            with self.subTest(program):
                process = subprocess.Popen([sys.executable, "-c", begin + program], env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}, stderr=subprocess.PIPE, text=True)
                assert process.stderr is not None
                while not self.dev.running():
                    time.sleep(0.05)
                errors = process.stderr.readline() if said.startswith("waiting") else ""
                process.send_signal(signal.SIGINT)
                errors += process.communicate(timeout=PATIENCE)[1]
                self.assertIn(said, errors)
                self.assertIn("cancelled: ", errors)
                self.assertEqual(self.dev.running(), [])

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
        raised(TypeError, lambda: PigeonExecutor(nonsense=1))  # type: ignore[call-arg]
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


class ChunkTest(unittest.TestCase):
    """How many calls of a map make a task, by what its first ones showed."""

    def test_chunks(self) -> None:
        for seconds, size, count, want in ((0.001, 10, 1032, 500), (0.3, 10, 1032, 1), (0.0, 10, 1032, 1000), (0.001, 1 << 20, 1032, 2), (None, 10, 1032, 1), (0.01, 10, 200_032, 50)):
            with self.subTest(seconds=seconds, size=size, count=count):
                calls = Map(abs, [range(count)], None, "python3")
                found = payload.Values([0])
                found.seconds, found.size = seconds or 0.0, size
                tasks = calls.pack_rest([] if seconds is None else [found], MAX_CALLS)
                self.assertEqual(len(tasks), -(-(count - 32) // want))
        self.assertEqual([len(Map(abs, [range(n)], size, "python3").first) for n, size in ((64, None), (65, None), (65, 1), (65, 10))], [64, 16, 65, 7])

    def test_large_arguments(self) -> None:
        calls = Map(bytes.upper, [[os.urandom(100_000) for _ in range(70)]], None, "python3")
        found = payload.Values([0])
        found.seconds, found.size = 1e-6, 1
        tasks = calls.pack_rest([found], MAX_CALLS)
        self.assertGreater(len(tasks), 1)
        self.assertTrue(all(payload.size(c) < 2 * payload.MAX_CALL for c in tasks))


class LoopsTest(WithCluster):
    """One client in several event loops, one after another and at a time."""

    def setUp(self) -> None:
        # asyncio warns of connections whose loop has ended before they were closed.
        ignored = warnings.catch_warnings()
        ignored.__enter__()
        self.addCleanup(ignored.__exit__, None, None, None)
        warnings.simplefilter("ignore", ResourceWarning)

    def test_one_after_another(self) -> None:
        client = AsyncClient()

        async def submit() -> Any:
            job = await client.submit(["echo", "1"])
            await asyncio.gather(*(job.status() for _ in range(5)))  # several connections stay
            return job

        job = asyncio.run(submit())
        self.assertEqual(asyncio.run(job.result(0, PATIENCE)), b"1\n")
        job = asyncio.run(submit())
        client.close()

    def test_at_a_time(self) -> None:
        client = AsyncClient()
        file = self.dev.folder / "staged"
        file.write_bytes(b"x" * 100)

        async def submit() -> list[bytes]:
            jobs = await asyncio.gather(*(client.submit(["cat", "staged"], stage=[str(file)]) for _ in range(5)))
            return await asyncio.gather(*(job.result(0, PATIENCE) for job in jobs))

        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            self.assertEqual([f.result(PATIENCE) for f in [pool.submit(asyncio.run, submit()) for _ in range(3)]], [[b"x" * 100] * 5] * 3)
        client.close()

    def test_an_executor_belongs_to_one(self) -> None:
        async def call() -> Any:
            return await executor.submit(pow, 2, 3)

        executor = AsyncPigeonExecutor()
        self.assertEqual(asyncio.run(call()), 8)
        with self.assertRaisesRegex(RuntimeError, "belongs to another event loop"):
            asyncio.run(call())


class AsyncExecutorTest(WithCluster):
    def test_ctrl_c(self) -> None:
        program = "import asyncio, time, pigeonsched\nasync def main():\n    e = pigeonsched.AsyncPigeonExecutor()\n    await e.submit(time.sleep, 3600)\nasyncio.run(main())\n"
        with subprocess.Popen([sys.executable, "-c", program], env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}, stderr=subprocess.DEVNULL) as process:
            while not self.dev.running():
                time.sleep(0.05)
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=PATIENCE)
        self.assertEqual(self.dev.running(), [])

    def test_map_chooses_chunks(self) -> None:
        async def values() -> list[int]:
            async with AsyncPigeonExecutor() as executor:
                results = executor.map(abs, range(-100, 0))
            return [x async for x in results]  # the rest is sent though the executor takes no more calls

        self.assertEqual(asyncio.run(asyncio.wait_for(values(), PATIENCE)), list(range(100, 0, -1)))

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
