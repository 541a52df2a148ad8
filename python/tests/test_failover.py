"""A cluster whose answers are lost, and addresses where nobody answers."""

from __future__ import annotations

import asyncio
import functools
import os
import pathlib
import signal
import socket
import socketserver
import struct
import tempfile
import threading
import time
import traceback
import unittest
import warnings
from collections.abc import Callable
from typing import Any
from unittest import mock

from pigeonsched import AsyncClient, CallError, Client, PigeonError, PigeonExecutor, Problem, UnknownOutcomeError, frontends, wire
from pigeonsched.links import FrameError
from tests.cluster import PATIENCE, Dev, WithCluster, raised


def read(s: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        piece = s.recv(size - len(data))
        if not piece:
            raise ConnectionResetError
        data += piece
    return data


def read_frame(s: socket.socket) -> bytes:
    header = read(s, 4)
    return header + read(s, struct.unpack(">I", header)[0])


class Proxy(socketserver.ThreadingTCPServer):
    """Passes calls on to a frontend; loses the first answers to those of some methods, or gives them another number."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, frontend: str, lose: dict[bytes, int]) -> None:
        host, _, port = frontend.rpartition(":")
        self.frontend, self.lose = (host, int(port)), lose
        self.renumber: dict[bytes, int] = {}
        self.seen: list[bytes] = []
        super().__init__(("127.0.0.1", 0), Pass)
        threading.Thread(target=self.serve_forever, daemon=True).start()
        self.address = "127.0.0.1:%d" % self.server_address[1]

    def handle_error(self, request: Any, client_address: Any) -> None:
        pass  # connections end


class Pass(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        assert isinstance(self.server, Proxy)
        with socket.create_connection(self.server.frontend) as to:
            while True:
                call = read_frame(self.request)
                method = call[12 : 12 + struct.unpack(">I", call[8:12])[0]]
                self.server.seen.append(method)
                to.sendall(call)
                answer = read_frame(to)
                if self.server.lose.get(method, 0) > 0:
                    self.server.lose[method] -= 1
                    return
                if self.server.renumber.get(method, 0) > 0:
                    self.server.renumber[method] -= 1
                    number = 12 + len(method)
                    answer = answer[:number] + bytes([answer[number] ^ 1]) + answer[number + 1 :]
                self.request.sendall(answer)


def forked(child: Callable[[], bool]) -> bool:
    """Reports whether the call returns true in a process that is forked from this one."""
    pid = os.fork()
    if pid == 0:
        status = 1
        warnings.simplefilter("ignore")  # of the parent's objects, which end here too
        try:
            status = 0 if child() else 1
        except Exception:
            traceback.print_exc()
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


async def forks(t: unittest.TestCase, client: AsyncClient) -> None:
    """Checks that a fork can use the client in a loop of its own, and its parent afterwards."""
    async with client:
        job = await client.sleep(0)
        kept = [link for f in client._session.frontends._known.values() for link in f._idle]
        t.assertTrue(forked(lambda: asyncio.run(job.status()).job == job.id))
        t.assertEqual((await job.status()).job, job.id)
        t.assertEqual([link for f in client._session.frontends._known.values() for link in f._idle], kept)


def ports(client: Client) -> set[int]:
    """Returns the local ports of the connections that a client keeps."""
    return {link._socket.getsockname()[1] for f in client._session.frontends._known.values() for link in f._idle}  # type: ignore[attr-defined] # of a blocking client


def dead_port(t: unittest.TestCase) -> int:
    """Returns a port at which nobody listens, held until the test ends."""
    s = socket.socket()
    t.addCleanup(s.close)
    s.bind(("127.0.0.1", 0))
    port: int = s.getsockname()[1]
    return port


class LostAnswersTest(WithCluster):
    def proxy(self, **lose: int) -> Proxy:
        p = Proxy(self.dev.frontends[0], {k.encode(): v for k, v in lose.items()})
        self.addCleanup(p.server_close)
        self.addCleanup(p.shutdown)
        return p

    def test_a_job_is_accepted_once(self) -> None:
        p = self.proxy(submit=2, waitJob=2, taskLog=1, jobStatus=1)
        with Client(p.address) as client:
            job = client.submit(["echo", "once"], name="accepted-once")
            self.assertEqual(job.result(0, PATIENCE), b"once\n")
            self.assertFalse(job.duplicate)
            self.assertEqual(client.job(job.id).status().attempts, 1)
        self.assertEqual(p.seen.count(b"submit"), 3)
        with Client() as client:
            self.assertEqual([j.job for j in client.jobs() if j.name == "accepted-once"], [job.id])

    def test_functions_are_called_once(self) -> None:
        p = self.proxy(submit=1, waitJob=1, taskLog=1)
        with PigeonExecutor(p.address, name="called-once") as executor:
            self.assertEqual(list(executor.map(pow, range(4), [2] * 4, timeout=PATIENCE)), [0, 1, 4, 9])
        with Client() as client:
            self.assertEqual([(j.tasks, j.attempts) for j in client.jobs() if j.name == "called-once"], [(4, 4)])

    def test_an_outcome_that_nobody_knows(self) -> None:
        p = self.proxy(submit=1000)
        with Client(p.address, retry_for=0.2) as client:
            e = raised(UnknownOutcomeError, lambda: client.submit(["echo", "lost"], name="lost"))
        with Client() as client:
            self.assertEqual(client.job(e.job).status().name, "lost")
            again = client.submit(["echo", "lost"], name="lost", key=e.job)
            self.assertTrue(again.duplicate)

    def test_an_address_where_nobody_answers(self) -> None:
        dead = f"127.0.0.1:{dead_port(self)}"
        for order in ([dead, self.dev.frontends[0]], [self.dev.frontends[0], dead]):
            with Client(order) as client:
                for i in range(4):
                    self.assertEqual(client.submit(["echo", str(i)]).result(0, PATIENCE), b"%d\n" % i)
        with Client(dead, retry_for=0) as client:
            e = raised(CallError, lambda: client.sleep(1))
            self.assertFalse(e.sent)
            self.assertIn(dead, str(e))

    def test_the_error_of_a_signal_handler_ends_a_wait(self) -> None:
        for error in (TimeoutError("the program's own time is up"), CallError("no frontend answers the handler", sent=False)):

            def alarm(*_: Any) -> None:
                raise error

            self.addCleanup(signal.signal, signal.SIGALRM, signal.signal(signal.SIGALRM, alarm))
            with Client() as client:
                job = client.sleep(3)
                signal.setitimer(signal.ITIMER_REAL, 0.3)
                self.assertIs(raised(type(error), lambda: job.wait(PATIENCE)), error)
                self.assertEqual(job.status().state, "running")  # by another connection
                job.cancel()

    def test_an_address_that_no_host_can_have(self) -> None:
        async def later(*frontends: str) -> Any:
            async with AsyncClient(frontends, retry_for=0) as client:
                return await client.jobs()

        with Client(["a..b:1", *self.dev.frontends], retry_for=0) as client:
            client.jobs()  # the other one answers
        self.assertIn("no connection: ", str(raised(CallError, lambda: Client("a..b:1", retry_for=0).jobs())))
        asyncio.run(later("a..b:1", *self.dev.frontends))
        self.assertIn("no connection: ", str(raised(CallError, lambda: asyncio.run(later("a..b:1")))))

    def test_another_service_at_the_address(self) -> None:
        with Client(self.dev.ready["web"].removeprefix("http://").rstrip("/"), retry_for=0, timeout=5) as client:
            raised(CallError, lambda: client.sleep(1))

    def test_connections_that_the_frontend_closed(self) -> None:
        p = self.proxy()
        with Client(p.address, retry_for=0) as client:
            client.sleep(0).wait(PATIENCE)
            for f in client._session.frontends._known.values():
                for link in f._idle:
                    link._socket.shutdown(socket.SHUT_RD)  # type: ignore[attr-defined] # as seen when the other side closed
            client.sleep(0).wait(PATIENCE)


    def test_an_answer_to_another_call(self) -> None:
        p = self.proxy()
        with Client(p.address) as client:
            job = client.sleep(0)
            p.renumber[b"jobStatus"] = 1
            self.assertEqual(job.status().job, job.id)
        self.assertEqual(p.seen.count(b"jobStatus"), 2)
        call, other = wire.encode("jobStatus", "a"), wire.encode("jobStatus", "a")
        wire.check_answer(call, call)
        for answer in (other, call.replace(b"jobStatus", b"cancelJob"), b"nothing"):
            raised(FrameError, lambda: wire.check_answer(call, answer))

    def test_a_fork_makes_its_own_connections(self) -> None:
        with Client(retry_for=0) as client:
            job = client.sleep(0)
            before = ports(client)
            self.assertTrue(before)
            self.assertTrue(forked(lambda: job.status().job == job.id and not ports(client) & before))
            self.assertEqual(job.status().job, job.id)
            self.assertEqual(ports(client), before)

    def test_a_fork_does_not_wait_for_a_thread_of_its_parent(self) -> None:
        inside, leave, construct = threading.Event(), threading.Event(), frontends.Frontend

        def slowly(*args: Any) -> frontends.Frontend:
            inside.set()
            leave.wait()
            return construct(*args)

        def reaches_another() -> bool:
            signal.alarm(10)
            frontends.Frontend = construct  # type: ignore[misc]
            return client._session.frontends._at("127.0.0.1:2") is not None

        with Client(retry_for=0) as client:
            with mock.patch.object(frontends, "Frontend", slowly):
                thread = threading.Thread(target=client._session.frontends._at, args=("127.0.0.1:1",))
                thread.start()
                inside.wait()
                try:
                    self.assertTrue(forked(reaches_another))
                finally:
                    leave.set()
                    thread.join()

    def test_a_fork_leaves_the_loop_of_its_parent_alone(self) -> None:
        asyncio.run(asyncio.wait_for(forks(self, AsyncClient(retry_for=0, timeout=10)), PATIENCE))

    def test_an_executor_is_not_for_a_fork(self) -> None:
        with PigeonExecutor() as executor:
            self.assertEqual(executor.submit(abs, -1).result(PATIENCE), 1)
            calls: list[Callable[[], Any]] = [lambda: executor.submit(abs, -2), lambda: executor.map(abs, [-2]), executor.shutdown]
            self.assertTrue(forked(lambda: all("belongs to process" in str(raised(RuntimeError, call)) for call in calls)))
            self.assertEqual(executor.submit(abs, -3).result(PATIENCE), 3)


class AwayTest(WithCluster):
    """A frontend that is away when a job is waited for."""

    def test_the_time_is_kept(self) -> None:
        silent = socket.create_server(("127.0.0.1", 0))  # connections open, and nothing answers
        self.addCleanup(silent.close)
        for port in (dead_port(self), silent.getsockname()[1]):
            with Client(retry_for=60, timeout=60) as client:
                job = client.sleep(0)
                job.wait(PATIENCE)
                job._session._at.close()
                job._session._at._closed = False
                job._session._at.address = f"127.0.0.1:{port}"
                waits: list[Callable[[], Any]] = [lambda: job.wait(0.5), lambda: job.wait(0.5, progress=True), lambda: job.result(0, 0.5)]
                for wait in waits:
                    began = time.monotonic()
                    raised(TimeoutError, wait)
                    self.assertLess(time.monotonic() - began, 30)


class NamedTest(unittest.TestCase):
    """Frontends that name another one."""

    def setUp(self) -> None:
        self.leader = ""
        self.asked: list[str] = []

    def client(self, *addresses: str) -> Client:
        async def call(f: frontends.Frontend, method: str, *_: Any, timeout: float) -> Any:
            self.asked.append(f.address)
            if f.address == self.leader:
                return []
            raise PigeonError("it stands by", problem=Problem.NOT_READY, address=self.leader or f"h{len(self.asked)}:1")

        patched = mock.patch.object(frontends.Frontend, "call", call)
        patched.start()
        self.addCleanup(patched.stop)
        client = Client(addresses, retry_for=0)
        self.addCleanup(client.close)
        return client

    def test_a_new_address_is_followed_after_any_number_of_others(self) -> None:
        client = self.client("a:1", "b:1")
        for i in range(3 * frontends._MAX_FRONTENDS):
            self.leader = f"h{i}:1"
            self.assertEqual(client.jobs(), [])
        known = list(client._session.frontends._known)
        self.assertEqual((len(known), known[:2], known[-1]), (frontends._MAX_FRONTENDS, ["a:1", "b:1"], self.leader))

    def test_a_new_address_is_followed_by_a_client_of_many(self) -> None:
        client = self.client(*(f"a{i}:1" for i in range(2 * frontends._MAX_FRONTENDS)))
        for leader in ("one:1", "other:1"):
            self.leader = leader
            self.assertEqual(client.jobs(), [])

    def test_frontends_that_name_others_without_end(self) -> None:
        client = self.client("a:1")
        raised(PigeonError, client.jobs)
        self.assertEqual(len(self.asked), frontends._MAX_FRONTENDS)


class TwoFrontendsTest(unittest.TestCase):
    def test_jobs_of_both(self) -> None:
        dev = Dev("--frontends", "2")
        self.addCleanup(dev.stop)
        with Client(dev.frontends) as client:
            jobs = [client.submit(["echo", str(i)]) for i in range(8)]
            self.assertEqual([j.result(0, PATIENCE) for j in jobs], [b"%d\n" % i for i in range(8)])
        # Found at the other one too.
        with Client(list(reversed(dev.frontends))) as client:
            self.assertEqual({client.job(j.id).status().state for j in jobs}, {"completed"})


class SecuredTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="pigeon-python-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.dev = Dev("--secure", str(self.folder / "secrets"))
        self.addCleanup(self.dev.stop)

    def test_tls_and_token(self) -> None:
        given: Any = {"tls_ca": self.dev.ready["tls_ca"], "token_file": self.dev.ready["token_file"]}
        with Client(self.dev.frontends, **given) as client:
            job = client.submit(["echo", "secured"])
            self.assertEqual(job.result(0, PATIENCE), b"secured\n")
            before = ports(client)
            self.assertTrue(forked(lambda: job.status().job == job.id and not ports(client) & before))
            self.assertEqual((job.status().job, ports(client)), (job.id, before))
        asyncio.run(asyncio.wait_for(forks(self, AsyncClient(self.dev.frontends, retry_for=0, timeout=10, **given)), PATIENCE))
        with PigeonExecutor(self.dev.frontends, settings=given) as executor:
            self.assertEqual(executor.submit(pow, 2, 5).result(PATIENCE), 32)
        with mock.patch.dict(os.environ, {"XDG_RUNTIME_DIR": self.dev.environ["XDG_RUNTIME_DIR"]}), Client() as client:
            self.assertEqual(client.settings.tls_ca, given["tls_ca"])
            self.assertEqual(client.sleep(0).wait(PATIENCE).state, "completed")

    def test_a_connection_that_ends_in_the_handshake(self) -> None:
        class Ends(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                self.request.shutdown(socket.SHUT_WR)
                while self.request.recv(4096):
                    pass

        proxy = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Ends)
        self.addCleanup(proxy.server_close)
        threading.Thread(target=proxy.serve_forever, daemon=True).start()
        self.addCleanup(proxy.shutdown)
        ends, ca = f"127.0.0.1:{proxy.server_address[1]}", self.dev.ready["tls_ca"]

        def jobs(*frontends: str) -> Any:
            with Client(frontends, tls_ca=ca, retry_for=0) as client:
                return client.jobs()

        async def later(*frontends: str) -> Any:
            async with AsyncClient(frontends, tls_ca=ca, retry_for=0) as client:
                return await client.jobs()

        for ask in (jobs, lambda *frontends: asyncio.run(later(*frontends))):
            self.assertEqual(ask(ends, *self.dev.frontends), [])
            e = raised(CallError, functools.partial(ask, ends))
            self.assertEqual(e.problem, Problem.NOT_READY)
            self.assertRegex(str(e), "(no connection|the handshake of TLS): [^,]")

    def test_certificates_are_read_again(self) -> None:
        other = Dev("--secure", str(self.folder / "others"))
        self.addCleanup(other.stop)
        own, others, file = self.dev.ready["tls_ca"], other.ready["tls_ca"], self.folder / "ca.pem"
        file.write_bytes(pathlib.Path(others).read_bytes())
        with Client(self.dev.frontends, tls_ca=str(file)) as client:
            raised(CallError, lambda: client.sleep(0))
            file.write_bytes(pathlib.Path(own).read_bytes())
            job = client.sleep(0)
            file.unlink()
            for f in client._session.frontends._known.values():
                while f._idle:
                    f._idle.pop().close()
            with self.assertLogs("pigeonsched", "WARNING") as log:
                self.assertEqual(job.wait(PATIENCE).state, "completed")
            self.assertIn("what was read before counts", log.output[0])

    def test_refusals(self) -> None:
        ca = self.dev.ready["tls_ca"]
        for cluster in ("other", None):
            with Client(self.dev.frontends, tls_ca=ca, cluster=cluster) as client:
                if cluster is None:
                    self.assertEqual(client.sleep(0).wait(PATIENCE).state, "completed")  # the kernel says who calls
                    continue
                e = raised(PigeonError, lambda: client.sleep(0))
                self.assertEqual(e.problem, Problem.DENIED)
                self.assertIn("of the cluster 'pigeon'", str(e))
        other = Dev("--secure", str(self.folder / "others"))
        self.addCleanup(other.stop)
        with Client(self.dev.frontends, tls_ca=other.ready["tls_ca"]) as client:
            e = raised(CallError, lambda: client.sleep(0))
            self.assertEqual(e.problem, Problem.DENIED)
            self.assertIn("certificate verify failed", str(e))

        async def asyncio_too() -> None:
            async with AsyncClient(self.dev.frontends, tls_ca=other.ready["tls_ca"]) as client:
                with self.assertRaises(CallError):
                    await client.sleep(0)
            async with AsyncClient(self.dev.frontends, tls_ca=ca, cluster="other") as client:
                with self.assertRaises(PigeonError):
                    await client.sleep(0)

        asyncio.run(asyncio.wait_for(asyncio_too(), PATIENCE))
