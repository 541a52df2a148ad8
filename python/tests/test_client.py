"""The client against a real cluster."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import io
import json
import sys
import threading
import time
from typing import Any
from unittest import mock

from pigeonsched import AsyncClient, Client, Command, JobFailedError, JobOptions, PigeonError, Problem, TaskFile, wire
from pigeonsched.progress import Bar
from tests.cluster import PATIENCE, WithCluster, raised


class ClientTest(WithCluster):
    def setUp(self) -> None:
        self.client = Client()
        self.addCleanup(self.client.close)

    def test_submit_wait_result(self) -> None:
        job = self.client.submit(["sh", "-c", "echo $GREETING $PIGEON_TASK; echo wrong >&2"], tasks=3, env={"GREETING": "hello"}, name="greet", owner="team/alice", priority=2)
        s = job.wait(PATIENCE)
        self.assertEqual((s.state, s.tasks, s.completed, s.done, s.name, s.owner, s.priority), ("completed", 3, 3, 3, "greet", "team/alice", 2))
        self.assertEqual([job.result(i, PATIENCE) for i in range(3)], [b"hello 0\n", b"hello 1\n", b"hello 2\n"])
        self.assertEqual(job.logs(1, stream="stderr"), b"wrong\n")
        self.assertEqual(self.client.job(job.id).status().state, "completed")
        self.assertIn(job.id, [j.job for j in self.client.jobs()])
        # The program pigeon sees the same job.
        self.assertEqual(self.dev.pigeon("logs", "--task", "2", job.id), "hello 2\n")

    def test_a_command_for_each_task(self) -> None:
        job = self.client.submit([Command(["echo", "a"]), Command(["sh", "-c", "echo $B"], {"B": "b"})])
        self.assertEqual([job.result(i, PATIENCE) for i in range(2)], [b"a\n", b"b\n"])

    def test_what_tasks_share_is_sent_once(self) -> None:
        """Whole, these jobs would be larger than a frontend takes."""
        script = "# " + "x" * 2_500 + "\necho $I"
        for job in (
            self.client.submit(["sh", "-c", script], tasks=10_000, env={"I": "all"}, max_running=2),
            self.client.submit([Command(["sh", "-c", script], {"I": str(i)}) for i in range(8_000)], max_running=2),
        ):
            while job.status().completed < 2:
                time.sleep(0.05)
            job.cancel()
            out = [job.logs(i) for i in range(2)]
            self.assertIn(out, ([b"all\n"] * 2, [b"0\n", b"1\n"]))

    def test_requests_that_share(self) -> None:
        def sent(commands: Any) -> Any:
            r = wire.shared(wire.request(commands, 0.0, 1, JobOptions(dir="/d"), "ann"))
            own = [(t.process and (t.process.argv, t.process.env, t.process.dir)) for t in r.tasks]
            return (r.process and (r.process.argv, r.process.env, r.process.dir)), own

        a, b = Command(["a"], {"K": "1"}), Command(["a"], {"K": "2"})
        self.assertEqual(sent([a, a]), ((["a"], ["K=1"], "/d"), [None, None]))
        self.assertEqual(sent([a, b]), ((["a"], [], "/d"), [([], ["K=1"], ""), ([], ["K=2"], "")]))
        self.assertEqual(sent([a, Command(["b"], {"K": "1"})]), (([], ["K=1"], "/d"), [(["a"], [], ""), (["b"], [], "")]))
        self.assertEqual(sent([a, Command(["b"])]), (None, [(["a"], ["K=1"], "/d"), (["b"], [], "/d")]))

    def test_follow(self) -> None:
        job = self.client.submit(["sh", "-c", "echo one; sleep 0.3; echo two"])
        self.assertEqual(b"".join(job.follow()), b"one\ntwo\n")

    def test_follow_of_a_task_that_is_not_there(self) -> None:
        job = self.client.submit(["sh", "-c", "sleep 0.5; exit 1"])
        e = raised(PigeonError, lambda: list(job.follow(task=1)))
        self.assertIn("it has tasks 0 to 0, not 1", str(e))

    def test_large_output(self) -> None:
        job = self.client.submit([sys.executable, "-c", "print('x' * 900_000)"])
        self.assertEqual(len(job.result(0, PATIENCE)), 900_001)

    def test_failure(self) -> None:
        job = self.client.submit(["sh", "-c", "echo why >&2; exit 3"])
        e = raised(JobFailedError, lambda: job.result(0, PATIENCE))
        self.assertIn("it exited with status 3", str(e))
        self.assertIn(f"pigeon explain {job.id}", str(e))
        self.assertEqual(job.logs(stream="stderr"), b"why\n")

    def test_stage(self) -> None:
        folder = self.dev.folder / "in"
        (folder / "sub").mkdir(parents=True)
        (folder / "sub" / "data").write_bytes(b"x" * 1_500_000)
        (folder / "link").symlink_to("sub/data")
        tool = self.dev.folder / "tool"
        tool.write_text("#!/bin/sh\nwc -c < in/sub/data; ls in; echo more >> in/sub/data\n")
        tool.chmod(0o755)
        stage = [str(folder), f"{tool}=bin/run"]
        job = self.client.submit(["bin/run"], tasks=2, stage=stage)
        self.assertEqual([job.result(i, PATIENCE) for i in range(2)], [b"1500000\nsub\n"] * 2)

        async def again() -> bytes:
            async with AsyncClient() as client:
                return await (await client.submit(["bin/run"], stage=stage)).result(0, PATIENCE)

        self.assertEqual(asyncio.run(again()), b"1500000\nsub\n")
        huge = self.dev.folder / "huge"
        with huge.open("wb") as f:
            f.truncate(1 << 40)
        for wrong, what in (([str(huge)], "more than the limit of 67108864 a job"), ([f"{tool}=../run"], "relative path"), ([str(folder / "link")], "links are not followed"), (["none"], "No such file"), ([f"{tool}", f"{folder}=tool"], "folder of others")):
            e = raised(PigeonError, lambda: self.client.submit(["true"], stage=wrong))  # noqa: B023
            self.assertEqual(e.problem, Problem.INVALID)
            self.assertIn(what, str(e))

    def test_files_are_hashed_off_the_loop(self) -> None:
        file = self.dev.folder / "large"
        file.write_bytes(b"x")
        threads: list[int] = []

        def sha256() -> Any:
            threads.append(threading.get_ident())
            return hashlib.new("sha256")

        async def submit() -> bytes:
            async with AsyncClient() as client:
                jobs = await asyncio.gather(*(client.submit(["cat", "large"], stage=[str(file)]) for _ in range(3)))
                return b"".join([await job.result(0, PATIENCE) for job in jobs])

        with mock.patch("hashlib.sha256", sha256):
            self.assertEqual(asyncio.run(submit()), b"xxx")
        self.assertTrue(threads)
        self.assertNotIn(threading.get_ident(), threads)

    def test_files(self) -> None:
        job = self.client.submit(["sh", "-c", "mkdir out; echo $PIGEON_TASK > out/part.csv; head -c 600000 /dev/zero > run; chmod 700 run"], tasks=2)
        self.assertEqual(job.wait(PATIENCE).state, "completed")
        self.assertEqual(job.files(task=1), [TaskFile("out/part.csv", 2), TaskFile("run", 600000, True)])
        self.assertEqual(job.read_file("out/part.csv", task=1), b"1\n")
        self.assertEqual(job.read_file("run"), bytes(600000))
        e = raised(PigeonError, lambda: job.read_file("../1.1.out"))
        self.assertEqual(e.problem, Problem.INVALID)
        e = raised(PigeonError, lambda: job.read_file("none"))
        self.assertEqual(e.problem, Problem.NOT_FOUND)

    def test_cancel(self) -> None:
        job = self.client.sleep(3600, tasks=2)
        e = raised(TimeoutError, lambda: job.wait(0.05))
        self.assertIn("it goes on", str(e))
        self.assertEqual(job.cancel().state, "cancelled")
        self.assertEqual(job.wait(PATIENCE).state, "cancelled")
        self.assertIn("was cancelled", str(raised(JobFailedError, lambda: job.result(0, PATIENCE))))

    def test_a_list_of_commands_is_the_whole_job(self) -> None:
        c = Command(["true"])
        wrong: list[tuple[Any, dict[str, Any]]] = [([c, "oops"], {}), (["oops", c], {}), ([c, c], {"tasks": 5}), ([c], {"env": {"A": "1"}})]
        for commands, more in wrong:
            raised(TypeError, lambda: self.client.submit(commands, **more))
        self.assertEqual(self.client.submit([c, c], tasks=2).wait(PATIENCE).tasks, 2)

    def test_a_key_is_one_job(self) -> None:
        first = self.client.submit(["echo", "1"], key="once")
        again = self.client.submit(["echo", "1"], key="once")
        empty = raised(PigeonError, lambda: self.client.submit(["echo", "1"], key=""))
        self.assertIn("the key of the job is empty", str(empty))
        self.assertNotEqual(self.client.submit(["true"]).id, self.client.submit(["true"]).id)
        self.assertEqual((first.id, first.duplicate, again.id, again.duplicate), ("once", False, "once", True))
        e = raised(PigeonError, lambda: self.client.submit(["echo", "2"], key="once"))
        self.assertEqual(e.problem, Problem.INVALID)

    def test_refusals(self) -> None:
        e = raised(PigeonError, lambda: self.client.job("no-such-job"))
        self.assertEqual(e.problem, Problem.NOT_FOUND)
        self.assertTrue(e.what and e.subject and e.tried and e.advice, e)
        raised(TypeError, lambda: self.client.submit("echo hello"))
        anything: Any = "x"
        job = self.client.sleep(0)
        for name, call in {
            "tasks": lambda: self.client.sleep(0, tasks=anything),
            "task": lambda: job.logs(task=anything),
            "attempt": lambda: job.files(attempt=anything),
            "limit": lambda: self.client.jobs(anything),
        }.items():
            self.assertIn(f"{name} is 'x': give a whole number", str(raised(TypeError, call)))
        anything = job
        self.assertIn("the id of a job is Job(", str(raised(TypeError, lambda: self.client.job(anything))))
        raised(PigeonError, lambda: self.client.submit([]))
        # A duration that is shorter than any is not taken for none, which is no limit.
        self.assertIn("time limit is 1ns", str(raised(PigeonError, lambda: self.client.submit(["true"], time_limit=1e-12))))
        self.assertIn("max_disconnect is 1ns", str(raised(PigeonError, lambda: self.client.submit(["true"], max_disconnect=1e-12))))
        e = raised(PigeonError, lambda: self.client.sleep(1, tasks=100_001))
        self.assertIn("100000", str(e))
        e = raised(PigeonError, lambda: self.client.submit([Command(["true"], {"X": f"{i}" + "x" * 100_000}) for i in range(200)]))
        self.assertIn(str(16 << 20), str(e))

    def test_progress_without_tqdm(self) -> None:
        errors = io.StringIO()
        with mock.patch.dict(sys.modules, {"tqdm": None, "tqdm.auto": None}), contextlib.redirect_stderr(errors):
            job = self.client.sleep(0.01, tasks=3)
            job.wait(PATIENCE, progress=True)
        self.assertTrue(errors.getvalue().startswith(f"job {job.id}: 0 of 3 tasks\n"), errors.getvalue())
        self.assertIn("3 of 3 tasks\n", errors.getvalue())

    def test_progress_in_steps_of_any_size(self) -> None:
        out = io.StringIO()
        with mock.patch.dict(sys.modules, {"tqdm": None, "tqdm.auto": None}), contextlib.redirect_stderr(out), Bar(1000, "steps") as bar:
            for done in (7, 133, 155, 199, 201, 999, 1000):
                bar.show(done)
        self.assertEqual([line.split()[1] for line in out.getvalue().splitlines()], ["0", "133", "201", "999", "1000"])

    def test_progress_with_tqdm(self) -> None:
        errors = io.StringIO()
        with contextlib.redirect_stderr(errors):
            self.client.sleep(0.01, tasks=3).wait(PATIENCE, progress=True)
        self.assertIn("3/3", errors.getvalue())

    def test_options_reach_the_job(self) -> None:
        job = self.client.submit(["sleep", "30"], time_limit=0.2, memory=1 << 30, job_class="long", estimate=0.1)
        s = job.wait(PATIENCE)
        self.assertEqual((s.state, s.job_class), ("failed", "long"))
        explained = json.loads(self.dev.pigeon("explain", "-o", "json", job.id))
        self.assertIn("time_limit", json.dumps(explained))


class AsyncClientTest(WithCluster):
    def test_all(self) -> None:
        asyncio.run(asyncio.wait_for(self._all(), PATIENCE))

    async def _all(self) -> None:
        async with AsyncClient() as client:
            jobs = [await client.submit(["echo", str(i)], name=f"echo-{i}") for i in range(5)]
            self.assertEqual(await asyncio.gather(*(j.result() for j in jobs)), [b"%d\n" % i for i in range(5)])
            slow = await client.sleep(3600)
            with self.assertRaises(TimeoutError):
                await slow.wait(0.05)
            self.assertEqual((await slow.cancel()).state, "cancelled")
            self.assertEqual((await (await client.job(jobs[0].id)).status()).name, "echo-0")
            self.assertEqual(len(await client.jobs(2)), 2)
            talk = await client.submit(["sh", "-c", "echo one; sleep 0.3; echo two"])
            self.assertEqual(b"".join([piece async for piece in talk.follow()]), b"one\ntwo\n")
            with self.assertRaises(PigeonError) as refused:
                await client.job("no-such-job")
            self.assertEqual(refused.exception.problem, Problem.NOT_FOUND)
