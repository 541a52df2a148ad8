"""Airflow on Pigeon: an operator that runs a program or a function on the cluster.

    pip install apache-airflow cloudpickle pigeonsched

Copy this file to the folder of your DAGs. The cluster is found where Airflow's workers run, as
pigeonsched's README says. Each try of a PigeonOperator is one job: its key is made of Airflow's
own name of that try, so a worker that was lost and runs the try again finds the job that it had
submitted. A PigeonFunctionOperator has no such key: the function may be called again.
"""

from __future__ import annotations

import datetime
import hashlib
from collections.abc import Callable, Sequence
from typing import Any, Optional

from airflow.sdk import DAG, BaseOperator

from pigeonsched import Client, Job, PigeonExecutor


LONGEST = 256  # bytes of the key and of the name of a job


def name_of(ti: Any) -> str:
    """Returns what the work of a task is called, cut to what a job's name may have."""
    return f"{ti.dag_id}.{ti.task_id}".encode()[:LONGEST].decode(errors="ignore")


class PigeonOperator(BaseOperator):  # type: ignore[misc] # Airflow's classes have no types here
    """Runs a program on the cluster; its result is what the program writes to standard output."""

    template_fields = ("command",)

    def __init__(self, *, command: Sequence[str], options: Optional[dict[str, Any]] = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.command = list(command)
        self.options = options or {}
        self._request: dict[str, Any] = {}  # of the submission, once it is made
        self._job: Optional[Job] = None

    def execute(self, context: Any) -> str:
        ti = context["ti"]
        # The ids of a DAG and a task cannot contain an @, so two tries never have the same key.
        key = f"{ti.dag_id}@{ti.task_id}@{ti.run_id}@{ti.map_index}@{ti.try_number}"
        if len(key.encode()) > LONGEST:  # each of Airflow's ids may have 250 characters
            key = f"airflow@{hashlib.sha256(key.encode()).hexdigest()}"
        self._request = {"command": self.command, "key": key, "name": name_of(ti), **self.options}
        with Client() as client:
            self._job = client.submit(**self._request)
            self.log.info("job %s; 'pigeon explain %s' says why it waits", self._job.id, self._job.id)
            return self._job.result().decode()

    def on_kill(self) -> None:
        # Airflow calls this in execute, at the end of the process, or after execute, at a time-out:
        # the client of execute is closed then. A job that is on its way to a frontend may be accepted
        # after this: it is submitted once more, which is the same job by its key, and then cancelled.
        if self._request:
            with Client() as client:
                job = client.job(self._job.id) if self._job is not None else client.submit(**self._request)
                job.cancel()


class PigeonFunctionOperator(BaseOperator):  # type: ignore[misc] # as above
    """Calls a function on the cluster; its result is the function's."""

    def __init__(self, *, function: Callable[..., Any], arguments: Sequence[Any] = (), **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.function = function
        self.arguments = list(arguments)

    def execute(self, context: Any) -> Any:
        executor = PigeonExecutor(name=name_of(context["ti"]))
        try:
            return executor.submit(self.function, *self.arguments).result()
        finally:
            executor.shutdown(cancel_futures=True)  # after an error, such as a time-out of the task, nobody wants the result


with DAG("pigeon_example", schedule=None, start_date=datetime.datetime(2026, 1, 1), catchup=False) as dag:
    hello = PigeonOperator(task_id="hello", command=["echo", "hello from {{ dag.dag_id }}"], options={"estimate": 0.1})
    power = PigeonFunctionOperator(task_id="power", function=pow, arguments=[2, 10])
    hello >> power
