"""Functions on the slots of a cluster, in the manner of concurrent.futures."""

from __future__ import annotations

import asyncio
import concurrent.futures
import sys
import threading
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from typing import Any, Optional, TypeVar, Union

from pigeonsched import payload
from pigeonsched import progress as progress_bar
from pigeonsched.aio import AsyncClient
from pigeonsched.aioexecutor import AsyncPigeonExecutor, pack

_T = TypeVar("_T")


class PigeonExecutor(concurrent.futures.Executor):
    """Runs functions on a cluster: each submit is a job, a map is jobs of many tasks.

    A separate thread makes the calls; the functions run on the nodes. options are the fields
    of JobOptions except key and name. A function whose node is lost may be called more than once.
    """

    def __init__(
        self,
        frontend: Union[str, Sequence[str], None] = None,
        *,
        python: Optional[str] = None,
        name: str = "",
        max_workers: int = 64,
        settings: Optional[dict[str, Any]] = None,
        **options: Any,
    ) -> None:
        """python: the interpreter on the nodes, else this one. settings: like those of Client.

        max_workers bounds nothing here: Dask takes from it how many calls it keeps open.
        """
        self._max_workers = max_workers
        self._python = python or sys.executable
        client = AsyncClient(frontend, **(settings or {}))
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="pigeon-executor", daemon=True)
        self._thread.start()
        self._mutex = threading.Lock()
        self._ended: Optional[concurrent.futures.Future[None]] = None
        self._client = client
        self._async = self._in_loop(self._make(client, name, options)).result()

    async def _make(self, client: AsyncClient, name: str, options: dict[str, Any]) -> AsyncPigeonExecutor:
        return AsyncPigeonExecutor(client, python=self._python, name=name, **options)

    def _in_loop(self, coroutine: Coroutine[Any, Any, _T]) -> concurrent.futures.Future[_T]:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    def submit(self, fn: Callable[..., _T], /, *args: Any, **kwargs: Any) -> concurrent.futures.Future[_T]:
        """Calls a function on the cluster. Cancelling the future cancels its job at any time."""
        name, command = payload.name_of(fn), payload.command(fn, [(args, kwargs)], self._python)
        self._async.check(1)

        async def call() -> _T:
            result: _T = await self._async.send(name, command)
            return result

        return self._in_loop(call())

    def map(
        self, fn: Callable[..., _T], *iterables: Iterable[Any], timeout: Optional[float] = None, chunksize: int = 1, progress: bool = False, **unsupported: Any
    ) -> Iterator[_T]:
        """Returns the results in order; a task makes chunksize calls, and progress shows a bar.

        timeout is for each result, from its request. Ending the iteration early cancels the rest.
        """
        if unsupported:
            raise TypeError(f"map does not know {', '.join(unsupported)}")
        name, commands = payload.name_of(fn), pack(fn, iterables, chunksize, self._python)
        self._async.check(len(commands))
        bar = progress_bar.Bar(len(commands), name) if progress else None

        async def send() -> list[asyncio.Future[Any]]:
            futures: list[asyncio.Future[Any]] = self._async.send_all(name, commands)
            done = 0

            def ended(_: Any) -> None:
                nonlocal done
                done += 1
                if bar is not None:
                    bar.show(done)

            for f in futures:
                f.add_done_callback(ended)
            return futures

        return self._results(self._in_loop(send()).result(), timeout, bar)

    def _results(self, futures: list[asyncio.Future[Any]], timeout: Optional[float], bar: Optional[progress_bar.Bar]) -> Iterator[Any]:
        async def value(f: asyncio.Future[Any]) -> Any:
            return await f

        try:
            for f in futures:
                yield from self._in_loop(value(f)).result(timeout)
        finally:
            for f in futures:
                self._loop.call_soon_threadsafe(f.cancel)
            if bar is not None:
                bar.close()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Takes no more calls. With cancel_futures open ones are cancelled, else they continue."""
        with self._mutex:
            if self._ended is None:
                self._ended = self._in_loop(self._end(cancel_futures))
        if wait:
            self._ended.result()
            self._thread.join()
            self._loop.close()

    async def _end(self, cancel: bool) -> None:
        await self._async.shutdown(cancel=cancel)
        # All calls have ended; callers that wait for them here are woken before the loop stops.
        waiting = asyncio.all_tasks() - {asyncio.current_task()}
        if waiting:
            await asyncio.wait(waiting)
        self._client.close()
        self._loop.call_soon(self._loop.stop)
