"""The calls to the frontends of one cluster, which outlive each of them.

A job belongs to the frontend that accepted it, known by its name, not its address. A request that
may have been accepted by a frontend is sent again only under the same key, and only to where
its name is served, or to frontends that share their keys: a repetition is the same job. The
rules are those of the program pigeon (internal/frontends).
"""

from __future__ import annotations

import copy
import dataclasses
import math
import os
import ssl
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Generic, Optional, TypeVar

from pigeonsched import settings, wire
from pigeonsched.errors import CallError, PigeonError, Problem, UnknownOutcomeError
from pigeonsched.links import LOST, Link, Network
from pigeonsched.model import Identity
from pigeonsched.staging import PIECE, StagedFile
from pigeonsched.tls import Verifier

SHORT_RETRY = 5.0  # of questions, and of anything before the first answer
_FIRST_ANSWER = 3.0  # longest wait in the first round when there are other addresses
_LAST_ANSWER = 1.0  # longest wait for an answer after the caller's own time is up
_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.05, 0.25
_MAX_FRONTENDS = 64
_MAX_IDLE = 8  # connections kept to one frontend

_T = TypeVar("_T")


class _NotAllowed(Exception):
    """The frontend does not have the job."""


class Frontend:
    """The connections to the frontend at one address."""

    def __init__(self, network: Network, s: settings.Settings, verifier: Optional[Verifier], address: str) -> None:
        self.address = address
        self.identity: Optional[Identity] = None
        self._network, self._settings, self._verifier = network, s, verifier
        self._idle: list[Link] = []
        self._most_idle = _MAX_IDLE
        self._process = os.getpid()
        self._closed = False

    async def call(self, method: str, *args: Any, timeout: float) -> Any:
        """Makes a call once. The error is a refusal, or a CallError."""
        message = wire.encode(method, *args)
        until = time.monotonic() + timeout
        link = await self._link(timeout)
        try:
            answer = await link.exchange(message, max(until - time.monotonic(), 1e-3))
            wire.check_answer(message, answer)
        except LOST as e:
            link.close()
            raise CallError(f"there is no answer: {e}", sent=True, subject="frontend " + self.address, tried="waiting for the answer to " + method, advice="try again") from e
        except BaseException:
            link.close()  # a late answer would count as that of the next call
            raise
        if self._closed or len(self._idle) >= self._most_idle:
            link.close()
        else:
            self._idle.append(link)
        return wire.decode(method, answer)

    async def _link(self, timeout: float) -> Link:
        if self._closed:
            raise PigeonError("the client is closed", tried="calling frontend " + self.address, advice="make another one")
        self._leave_to_parent()
        while self._idle:
            try:
                link = self._idle.pop()
            except IndexError:  # another thread took it
                break
            if link.usable():
                return link
            link.close()
        return await self._connect(timeout)

    def _leave_to_parent(self) -> None:
        """After a fork, drops the connections of the other process: each would read answers to the other's calls."""
        if self._process != os.getpid():
            links, self._idle, self._process = self._idle, [], os.getpid()
            for link in links:
                link.leave()

    async def _connect(self, timeout: float) -> Link:
        if self._verifier is not None:
            self._verifier = self._verifier.again()
        try:
            link = await self._network.connect(self.address, self._verifier, timeout)
        except (ssl.SSLEOFError, ssl.SSLZeroReturnError) as e:
            # The frontend may be stopping, or a proxy before it has none: no certificate was at fault.
            raise CallError(
                f"the connection ended within the handshake of TLS: {e}",
                sent=False,
                subject="frontend " + self.address,
                tried="connecting by TLS",
                advice="try again; if this stays, the frontend may not speak TLS: set its tls_cert",
            ) from e
        except ssl.SSLError as e:
            raise CallError(
                f"TLS: {e}",
                sent=False,
                subject="frontend " + self.address,
                tried="connecting by TLS",
                advice="check that the frontend has a certificate and that tls_ca (PIGEON_TLS_CA) is the authority of its cluster",
                problem=Problem.DENIED,
            ) from e
        except (*LOST, ValueError) as e:  # a ValueError: no name of a host can be like that, such as a..b
            # asyncio has no text for a connection that ended within the handshake of TLS.
            raise CallError(f"no connection: {str(e) or type(e).__name__}", sent=False, subject="frontend " + self.address, tried="connecting", advice="check that it runs and that the address is right") from e
        try:
            await self._prove(link, timeout)
        except LOST as e:
            link.close()
            raise CallError(f"no connection: {e}", sent=False, subject="frontend " + self.address, tried="proving who calls", advice="try again") from e
        except BaseException:
            link.close()
            raise
        return link

    async def _prove(self, link: Link, timeout: float) -> None:
        """Makes the first call of a connection: with a token, never in clear to another machine."""
        if not self._settings.token_file or not (link.secure or link.loopback):
            return
        token = settings.read_token(self._settings.token_file)
        try:
            call = wire.encode("authenticate", token)
            answer = await link.exchange(call, timeout)
            wire.check_answer(call, answer)
            wire.decode("authenticate", answer)
        except PigeonError as e:
            # A frontend without the call needs no proof; in clear, the kernel knows the caller.
            if e.problem == Problem.INVALID or (e.problem == Problem.DENIED and not link.secure):
                return
            raise

    async def identify(self, timeout: float) -> Identity:
        """Returns which frontend answers at the address. It is asked once."""
        if self.identity is None:
            try:
                self.identity = wire.identity(await self.call("identify", timeout=timeout))
            except CallError:
                raise
            except PigeonError as e:
                if e.problem != Problem.INVALID:
                    raise
                self.identity = Identity()  # from before this method: it has no name
        return self.identity

    def close(self) -> None:
        self._closed = True
        self.retire()

    def retire(self) -> None:
        """Keeps no connection from now on; those who hold it may still call it."""
        self._most_idle = 0
        self._leave_to_parent()
        while self._idle:
            self._idle.pop().close()


@dataclasses.dataclass
class Call(Generic[_T]):
    """One request, made until a frontend answers it."""

    first: Frontend
    request: Callable[[Frontend, float], Awaitable[_T]]  # the second argument is its timeout
    retry: float
    extra: float = 0.0  # how long a frontend may wait before it answers
    answers: frozenset[Problem] = frozenset()  # refusals that answer it
    allowed: Optional[Callable[[Frontend, float], Awaitable[bool]]] = None
    until: Optional[float] = None  # time.monotonic() at which the caller stops waiting

    def left(self) -> float:
        """How long the caller still waits."""
        return math.inf if self.until is None else max(self.until - time.monotonic(), 0.0)


@dataclasses.dataclass
class _Round(Generic[_T]):
    by: Optional[Frontend] = None
    value: Optional[_T] = None
    error: Optional[Exception] = None
    silent: list[Exception] = dataclasses.field(default_factory=list)


class Frontends:
    """The frontends of one cluster."""

    def __init__(self, network: Network, s: settings.Settings) -> None:
        self.settings = s
        self._network = network
        self._verifier = Verifier(s) if s.tls_ca else None
        # By address, the configured ones first. It is changed by calls that need no lock: a fork would
        # inherit one that another thread holds, and wait for ever.
        self._known = {address: Frontend(network, s, self._verifier, address) for address in s.frontend}
        self._configured = tuple(self._known.values())
        self._most = max(_MAX_FRONTENDS, len(self._configured) + 1)
        self._reached = self._gave_up = False

    def close(self) -> None:
        for f in tuple(self._known.values()):
            f.close()

    def _at(self, address: str) -> Frontend:
        """Returns the frontend at an address that a refusal names.

        Where there is no room for another one, those leave that were named first: frontends that restart
        at new addresses would otherwise fill the list with old ones, and no new one would be followed.
        """
        f = self._known.get(address)
        if f is None:
            f = self._known.setdefault(address, Frontend(self._network, self.settings, self._verifier, address))
            for named in tuple(self._known)[len(self._configured) : -1]:
                if len(self._known) <= self._most:
                    break
                left = self._known.pop(named, None)
                if left is not None:
                    left.retire()
        return f

    def first(self, key: str) -> Frontend:
        """Returns where a job with that key is submitted and requests about it begin."""
        h = 0xCBF29CE484222325  # FNV-1a
        for b in key.encode():
            h = ((h ^ b) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
        return self._configured[h % len(self._configured)]

    def any(self) -> Frontend:
        return self._configured[0]

    async def do(self, q: Call[_T]) -> tuple[Frontend, _T]:
        """Repeats the call until it is answered; returns the frontend and its answer."""
        began, pause, number = time.monotonic(), _SHORTEST_PAUSE, 0
        while True:
            r = await self._round(q, number)
            if r.by is not None and r.error is None:
                return r.by, r.value  # type: ignore[return-value] # it is there without an error
            if r.by is not None or not r.silent:
                raise r.error or _NotAllowed()
            left = min(self._patience(q.retry) - (time.monotonic() - began), q.left())
            if left <= 0:
                self._gave_up = True
                raise _together(r.silent)
            await self._network.sleep(min(pause, left))
            pause, number = min(2 * pause, _LONGEST_PAUSE), number + 1

    async def _round(self, q: Call[_T], number: int) -> _Round[_T]:
        r: _Round[_T] = _Round()
        asked: list[Frontend] = []
        unknown: Optional[Exception] = None
        following: Optional[Frontend] = q.first
        while following is not None:
            f, address = following, ""
            asked.append(f)
            try:
                value = await self._once(q, f, number)
            except _NotAllowed:
                pass
            except PigeonError as e:
                if not isinstance(e, CallError):
                    self._reached = True
                    if e.problem in q.answers:
                        return _Round(f, None, e)
                if e.problem in (Problem.NOT_READY, Problem.BUSY):
                    r.silent.append(e)
                    address = e.address
                elif e.problem == Problem.NOT_FOUND:
                    unknown = unknown or e
                    address = e.address
                else:
                    return _Round(f, None, e)
            else:
                self._reached = True
                return _Round(f, value)
            following = self._after(asked, address)
        if not r.silent:
            r.error = unknown
        return r

    async def _once(self, q: Call[_T], f: Frontend, number: int) -> _T:
        timeout = self.settings.timeout
        if number == 0 and len(self._known) > 1:
            timeout = min(timeout, _FIRST_ANSWER)
        if q.allowed is not None and not await q.allowed(f, min(timeout, q.left() + _LAST_ANSWER)):
            raise _NotAllowed
        return await q.request(f, min(timeout + q.extra, q.left() + _LAST_ANSWER))

    def _after(self, asked: list[Frontend], address: str) -> Optional[Frontend]:
        if len(asked) >= self._most:  # frontends that name others without end
            return None
        if address:
            named = self._at(address)
            if named not in asked:
                return named
        known = tuple(self._known.values())
        begin = known.index(asked[0]) if asked[0] in known else 0
        for i in range(len(known)):
            f = known[(begin + i) % len(known)]
            if f not in asked:
                return f
        return None

    def _patience(self, retry: float) -> float:
        if self._reached:
            return retry
        return 0.0 if self._gave_up else min(retry, SHORT_RETRY)

    async def submit(self, request: Any, made: bool, stage: Sequence[StagedFile] = ()) -> tuple[Frontend, str, bool]:
        """Submits a job, which has a key, after its files. made: the key was made for this submission.

        Returns the frontend that accepted it, its name, and whether the job was known before.
        """
        s = _Submission(self, request, made, stage)
        q: Call[tuple[str, bool]] = Call(s.home, s.submit, self.settings.retry_for, answers=frozenset({Problem.BUSY}), allowed=s.allowed)
        try:
            f, (name, duplicate) = await self.do(q)
        except (CallError, PigeonError) as e:
            if s.sent is not None and s.unanswered:
                raise UnknownOutcomeError(request.idempotencyKey, s.sent.address, e) from e
            raise
        return f, name, duplicate and not made


class _Submission:
    """One job in transit to a frontend."""

    def __init__(self, frontends: Frontends, request: Any, made: bool, stage: Sequence[StagedFile]) -> None:
        self._frontends, self._request, self._made, self._stage = frontends, request, made, stage
        self.home = frontends.first(request.idempotencyKey)
        self.sent: Optional[Frontend] = None  # may have accepted it
        self.unanswered = True  # nothing has answered the submission since
        self._sent_name = ""

    async def allowed(self, f: Frontend, timeout: float) -> bool:
        found = await f.identify(timeout)
        self._frontends._reached = True
        if f is self.sent or (self._made and self.sent is None):
            return True
        if self._made:
            return found.name != "" and found.name == self._sent_name
        if f is self.home or found.shared_keys:
            return True
        home = self.home.identity
        return home is not None and found.name != "" and found.name == home.name

    async def submit(self, f: Frontend, timeout: float) -> tuple[str, bool]:
        found = await f.identify(timeout)
        await self._send_files(f)
        request = wire.shared(self._request) if found.shared_process else self._request
        if self._made:
            request = copy.copy(request)
            request.frontend = found.name
        try:
            reply = await f.call("submit", request, timeout=timeout)
        except CallError as e:
            if e.sent:
                self.sent, self._sent_name, self.unanswered = f, found.name, True
            raise
        except PigeonError as e:
            if e.problem == Problem.NOT_READY:  # it stopped before it could answer
                self.sent, self._sent_name, self.unanswered = f, found.name, True
            elif e.problem != Problem.NOT_FOUND:
                self.unanswered = False
            raise
        return found.name, bool(reply.duplicate)

    async def _send_files(self, f: Frontend) -> None:
        """Sends what the frontend does not have from this user. Each answer is waited for as long as any other one."""
        if not self._stage:
            return
        timeout = self._frontends.settings.timeout
        have = await f.call("stageFiles", [wire.staged_file(s) for s in self._stage], timeout=timeout)
        sent: set[str] = set()
        for s, arrived in zip(self._stage, have):
            if arrived >= s.size or s.sha256 in sent:
                continue
            sent.add(s.sha256)
            with open(s.path, "rb") as content:
                while arrived < s.size:
                    content.seek(arrived)
                    piece = content.read(min(PIECE, s.size - arrived))
                    if not piece:
                        raise PigeonError(f"it ends after {arrived} bytes, and had {s.size}", subject=f"staged file {s.name!r}", tried="sending it; nothing was accepted", advice="submit again when nothing writes to it", problem=Problem.INVALID)
                    arrived = await f.call("stagePiece", s.sha256, arrived, piece, timeout=timeout)


def _together(errors: list[Exception]) -> Exception:
    if len(errors) == 1:
        return errors[0]
    sent = any(isinstance(e, CallError) and e.sent for e in errors)
    return CallError("no frontend answers: " + "; ".join(str(e) for e in errors), sent=sent, tried=f"calling {len(errors)} frontends")
