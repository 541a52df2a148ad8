"""A client of Pigeon, a scheduler for clusters that run many short jobs and a few long ones."""

from pigeonsched.aio import AsyncClient, AsyncJob
from pigeonsched.aioexecutor import AsyncPigeonExecutor
from pigeonsched.client import Client, Job
from pigeonsched.errors import CallError, JobFailedError, PigeonError, Problem, RemoteError, RemoteTraceback, ResultError, UnknownOutcomeError
from pigeonsched.executor import PigeonExecutor
from pigeonsched.model import Command, JobOptions, JobStatus, TaskFile
from pigeonsched.settings import Settings

from pigeonsched.version import VERSION as __version__

__all__ = [
    "AsyncClient",
    "AsyncJob",
    "AsyncPigeonExecutor",
    "CallError",
    "Client",
    "Command",
    "Job",
    "JobFailedError",
    "JobOptions",
    "JobStatus",
    "PigeonError",
    "PigeonExecutor",
    "Problem",
    "RemoteError",
    "RemoteTraceback",
    "ResultError",
    "Settings",
    "TaskFile",
    "UnknownOutcomeError",
]
