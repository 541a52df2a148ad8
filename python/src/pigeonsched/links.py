"""Connections to frontends: one call at a time on each, in frames with a length of 4 bytes.

The calls of this package are written once, as coroutines over the two protocols below. The
blocking client runs them on links that never suspend (run_blocking), the other one in asyncio.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import signal
import socket
import ssl
import struct
import time
import traceback
import weakref
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, Optional, Protocol, TypeVar

from pigeonsched.tls import Verifier

MAX_FRAME = 16 << 20
_T = TypeVar("_T")


class FrameError(Exception):
    """The other side sent something that is not a frame of Pigeon."""


class Link(Protocol):
    """A connection."""

    loopback: bool
    secure: bool

    async def exchange(self, message: bytes, timeout: float) -> bytes:
        """Sends a message and returns the one that answers it."""

    def usable(self) -> bool:
        """Reports whether the other side has not closed it, as far as is known."""

    def close(self) -> None:
        """Closes it at once."""

    def leave(self) -> None:
        """Closes this process's descriptor alone: the connection is that of the process that forked it."""


class Network(Protocol):
    """Opens links, waits, and does what takes long without a link."""

    async def connect(self, address: str, verifier: Optional[Verifier], timeout: float) -> Link: ...

    async def sleep(self, seconds: float) -> None: ...

    async def work(self, do: Callable[[], _T]) -> _T: ...


class _Interruption(BaseException):
    """Takes the error of a signal's handler past those who repeat a call after an error of its connection."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error


@contextlib.contextmanager
def _interruptible() -> Iterator[None]:
    """A handler may raise an error to end what its program waits for, such as a TimeoutError, or one of a call of its own: that is no error of the connection."""
    try:
        yield
    except Exception as e:
        handlers = {getattr(h, "__code__", None) for h in map(signal.getsignal, signal.valid_signals())} - {None}
        if any(frame.f_code in handlers for frame, _ in traceback.walk_tb(e.__traceback__)):
            raise _Interruption(e) from None
        raise


def run_blocking(call: Coroutine[Any, Any, _T]) -> _T:
    """Runs a coroutine that never suspends."""
    try:
        call.send(None)
    except StopIteration as done:
        result: _T = done.value
        return result
    except _Interruption as i:
        raise i.error from None
    call.close()
    raise RuntimeError("a blocking call suspended")


def split(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    return host.strip("[]"), int(port)


def _is_loopback(peer: Any) -> bool:
    host = peer[0] if peer else ""
    return host.startswith("127.") or host == "::1"


def _length(header: bytes) -> int:
    size: int = struct.unpack(">I", header)[0]
    if size == 0 or size > MAX_FRAME:
        raise FrameError(f"it sent {header!r}, which is no frame of Pigeon: another service may listen there, or TLS is expected")
    return size


class BlockingLink:
    """A socket."""

    def __init__(self, sock: socket.socket, secure: bool) -> None:
        self._socket = sock
        self.secure = secure
        self.loopback = _is_loopback(sock.getpeername())

    async def exchange(self, message: bytes, timeout: float) -> bytes:
        until = time.monotonic() + timeout
        with _interruptible():
            self._socket.settimeout(timeout)
            self._socket.sendall(struct.pack(">I", len(message)) + message)
            return self._read(_length(self._read(4, until)), until)

    def _read(self, size: int, until: float) -> bytes:
        data = bytearray()
        while len(data) < size:
            left = until - time.monotonic()
            if left <= 0:
                raise TimeoutError("the time for an answer is up")
            self._socket.settimeout(left)
            piece = self._socket.recv(min(size - len(data), 1 << 20))
            if not piece:
                raise ConnectionResetError("the other side closed the connection")
            data += piece
        return bytes(data)

    def usable(self) -> bool:
        # A frontend sends nothing without a request, so anything to read is the end.
        waiting = select.poll()
        waiting.register(self._socket, select.POLLIN)
        return not waiting.poll(0)

    def close(self) -> None:
        self._socket.close()

    def leave(self) -> None:
        self._socket.close()  # says nothing to the other side, with TLS neither


class BlockingNetwork:
    """Sockets, and time.sleep."""

    async def connect(self, address: str, verifier: Optional[Verifier], timeout: float) -> BlockingLink:
        with _interruptible():
            return self._connect(address, verifier, timeout)

    def _connect(self, address: str, verifier: Optional[Verifier], timeout: float) -> BlockingLink:
        sock = socket.create_connection(split(address), timeout)
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if verifier is None:
                return BlockingLink(sock, False)
            secured = verifier.context.wrap_socket(sock)
            sock = secured
            verifier.check(secured.getpeercert(), address)
            return BlockingLink(secured, True)
        except BaseException:
            sock.close()
            raise

    async def sleep(self, seconds: float) -> None:
        time.sleep(seconds)

    async def work(self, do: Callable[[], _T]) -> _T:
        return do()


class AsyncLink:
    """A stream of asyncio."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, secure: bool) -> None:
        self._reader, self._writer, self._loop = reader, writer, asyncio.get_running_loop()
        self.secure = secure
        self.loopback = _is_loopback(writer.get_extra_info("peername"))

    async def exchange(self, message: bytes, timeout: float) -> bytes:
        return await _within(timeout, self._exchange(message))

    async def _exchange(self, message: bytes) -> bytes:
        self._writer.write(struct.pack(">I", len(message)) + message)
        await self._writer.drain()
        try:
            return await self._reader.readexactly(_length(await self._reader.readexactly(4)))
        except asyncio.IncompleteReadError as e:
            raise ConnectionResetError("the other side closed the connection") from e

    def usable(self) -> bool:
        # A link of another loop, such as that of an earlier asyncio.run, has no use in this one.
        return self._loop is asyncio.get_running_loop() and not self._reader.at_eof() and not self._writer.is_closing()

    def close(self) -> None:
        if _running_loop() is self._loop:
            self._writer.transport.abort()
            return
        try:
            self._loop.call_soon_threadsafe(self._writer.transport.abort)
        except RuntimeError:  # it has ended, and cannot close anything
            self._detach()

    def leave(self) -> None:
        # The transport belongs to the loop of the other process, whose selector is shared with
        # it: abort would take the connection out of that one.
        self._detach()

    def _detach(self) -> None:
        """Ends the connection here without its loop: its descriptor is replaced, which the transport closes when it is dropped."""
        fd = self._writer.get_extra_info("socket").fileno()
        if fd >= 0:
            nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
            os.dup2(nothing, fd, inheritable=False)
            os.close(nothing)


class AsyncNetwork:
    """Streams of asyncio."""

    def __init__(self) -> None:
        self._working: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = weakref.WeakKeyDictionary()

    async def connect(self, address: str, verifier: Optional[Verifier], timeout: float) -> AsyncLink:
        host, port = split(address)
        context = verifier.context if verifier else None
        # server_hostname is not sent: the context checks no host's name.
        name = "" if context else None
        reader, writer = await _within(timeout, asyncio.open_connection(host, port, ssl=context, server_hostname=name))
        if verifier:
            try:
                verifier.check(writer.get_extra_info("peercert"), address)
            except BaseException:
                writer.transport.abort()
                raise
        return AsyncLink(reader, writer, verifier is not None)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def work(self, do: Callable[[], _T]) -> _T:
        # One at a time: of jobs that are submitted together, the first one hashes their files.
        async with self._working.setdefault(asyncio.get_running_loop(), asyncio.Lock()):
            return await asyncio.to_thread(do)


def _running_loop() -> Optional[asyncio.AbstractEventLoop]:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


async def _within(seconds: float, what: Coroutine[Any, Any, _T]) -> _T:
    # asyncio.wait_for of Python 3.10 and 3.11 may swallow a cancellation.
    task = asyncio.ensure_future(what)
    try:
        done, _ = await asyncio.wait({task}, timeout=seconds)
    except asyncio.CancelledError:
        _abandon(task)
        raise
    if not done:
        _abandon(task)
        raise TimeoutError("the time for an answer is up")
    return task.result()


def _abandon(task: asyncio.Task[Any]) -> None:
    """Ends a task that is no longer awaited, with the connection that it may still open."""

    def close(ended: asyncio.Task[Any]) -> None:
        if not ended.cancelled() and ended.exception() is None and isinstance(ended.result(), tuple):
            ended.result()[1].transport.abort()

    task.add_done_callback(close)
    task.cancel()


# The errors of a connection that is lost or refused.
LOST = (OSError, ssl.SSLError, TimeoutError, FrameError)
