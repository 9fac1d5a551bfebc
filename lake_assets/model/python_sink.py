"""A sink that is a class of the user's, as a feed declares it; calling it is `sinks.python`'s."""

import re
from datetime import timedelta
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from lake_assets.model.base import Noun
from lake_assets.model.checks import Duration
from lake_assets.model.rest import Secret

_CLASS = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*:[^\W\d]\w*(?:\.[^\W\d]\w*)*")


def _class_name(value: str) -> str:
    if _CLASS.fullmatch(value) is None:
        message = f"{value!r} names no class\nwrite module:Class, as my_sinks:Slack"
        raise ValueError(message)
    return value


class PythonSink(Noun):
    """A class of your own, which gets rows in a process of its own."""

    class_name: Annotated[str, AfterValidator(_class_name), Field(alias="class")]
    """`my_sinks:Slack`: its module and its name. The module is beside the feed's file, installed,
    or on `PYTHONPATH`."""

    options: dict[str, Any] = Field(default_factory=dict)
    """What it is made with, as named arguments; values of JSON."""

    secrets: dict[str, Secret] = Field(default_factory=dict)
    """Further arguments, which are secrets: `{token: {env: SLACK_TOKEN}}`."""

    rows_per_call: int = Field(default=100, ge=1, le=10_000)
    """Most rows of a call."""

    processes: int = Field(default=1, ge=1, le=32)
    """How many processes make calls, each one at a time."""

    timeout: Annotated[Duration, Field(ge=timedelta(milliseconds=100), le=timedelta(hours=1))] = (
        timedelta(seconds=30)
    )
    """How long one try of a call may take, before its process is killed; and making the class."""

    memory_mb: int = Field(default=2048, ge=128, le=65_536)
    """Most memory of a process (its address space), above which it gets a `MemoryError`."""

    give_up_after: Duration = timedelta(hours=1)
    """How long a call is tried, from its first try, before its rows become dead letters."""
