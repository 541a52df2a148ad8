"""mypy finds the mistakes below. It reports an ignored error that is none, so each mistake has to be found."""

from __future__ import annotations

import concurrent.futures
import dataclasses
import unittest
from typing import TYPE_CHECKING

from pigeonsched import AsyncClient, AsyncPigeonExecutor, Client, PigeonExecutor
from pigeonsched.model import ExecutorOptions, JobOptions, SubmitOptions
from pigeonsched.settings import ClientSettings, Settings


class TypingTest(unittest.TestCase):
    def test_options_are_the_fields(self) -> None:
        fields = {f.name for f in dataclasses.fields(JobOptions)}
        self.assertEqual(SubmitOptions.__optional_keys__, fields)
        self.assertEqual(ExecutorOptions.__optional_keys__, fields - {"key", "name"})
        self.assertEqual(ClientSettings.__optional_keys__, {f.name for f in dataclasses.fields(Settings)} - {"frontend"})


if TYPE_CHECKING:

    def area(width: int, height: float = 1.0) -> float: ...

    async def options(client: Client, other: AsyncClient) -> None:
        client.submit(["true"], retries=1, stage=["a"], key=None)
        client.submit(["true"], retrys=1)  # type: ignore[call-arg]
        client.submit(["true"], memory="2G")  # type: ignore[arg-type]
        client.sleep(1, ownr="a")  # type: ignore[call-arg]
        await other.submit(["true"], retrys=1)  # type: ignore[call-arg]
        await other.sleep(1, estimate="1s")  # type: ignore[arg-type]
        Client("a:1", timeout=1, token_file=None)
        Client("a:1", tokenfile="t")  # type: ignore[call-arg]
        AsyncClient("a:1", timeout="1s")  # type: ignore[arg-type]
        PigeonExecutor(owner="a", cpus=0.5, settings={"retry_for": 1.0})
        PigeonExecutor(key="k")  # type: ignore[call-arg]
        PigeonExecutor(cpu=1)  # type: ignore[call-arg]
        PigeonExecutor(settings={"retry": 1})  # type: ignore[arg-type]
        AsyncPigeonExecutor(time_limit="1h")  # type: ignore[arg-type]

    async def calls(executor: PigeonExecutor, other: AsyncPigeonExecutor) -> None:
        future: concurrent.futures.Future[float] = executor.submit(area, 1, height=2.0)
        executor.submit(area, "1")  # type: ignore[arg-type]
        executor.submit(area, 1, hight=2.0)  # type: ignore[call-arg]
        text: str = future.result()  # type: ignore[assignment]
        found: list[float] = list(executor.map(area, [1], [2.0], timeout=1, chunksize=2))
        executor.map(area, ["1"])  # type: ignore[arg-type]
        executor.map(area, [1], chunk_size=2)  # type: ignore[call-overload]
        value: float = await other.submit(area, 1)
        other.submit(area, None)  # type: ignore[arg-type]
        other.map(area, ["1"])  # type: ignore[arg-type]
        print(text, found, value)
