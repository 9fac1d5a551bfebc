"""Commands whose modules are imported when they run.

Spark, Arrow and the Kafka client take seconds to import, and `--help` or `services` needs none of
them. What a list of commands shows of each is therefore said here, and nothing else.
"""

from collections.abc import Mapping, Sequence
from importlib import import_module
from inspect import cleandoc
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command, get_group

SUMMARIES: Mapping[str, str] = {
    "init": "Make a project folder: a feed, Dagster's workspace, containers, CI, a README.",
    "validate": (
        "Check every feed before anything starts: YAML, fields, SQL, columns, functions, keys, "
        "crons."
    ),
    "schema": "Print the JSON Schema of feeds, by which editors complete and check them.",
    "setup": (
        "Fetch Spark's, Kafka's and the registry's jars, and record an archive of Spark's classes."
    ),
    "services": "Start, show and stop the embedded Kafka broker and schema registry.",
    "demo": "Start Kafka, a registry, a simulator of games and Dagster, and watch the tables fill.",
    "produce": "Send made-up events to a feed's Kafka topic.",
    "stream": "Take events from their sources to bronze and on to silver, until Ctrl-C.",
    "streams": "Stop a feed's stream deliberately, start it again, and show how each one is.",
    "backfill": (
        "Take a folder's old files, or a Delta table's rows, into a feed's tables, and end."
    ),
    "refresh": (
        "Bring gold views up to date with silver; keys that did not change are left alone."
    ),
    "deliver": "Send sinks the rows that they have not got yet, and end.",
    "redeliver": "Send the dead letters of sinks again, and end.",
    "requeue": "Move quarantined rows that now decode, route and pass to their silver tables.",
    "rebuild": "Derive silver from bronze, or gold from silver, from scratch.",
    "drop": "Drop the silver and gold tables of keys and views that a feed declares no more.",
    "erase": (
        "Erase a person's rows from all tables, all versions and all feeds, and keep them out."
    ),
    "maintain": (
        "Join small files, delete old rows and files that no version needs, and shorten logs."
    ),
    "backup": (
        "Copy the lake into a folder or a bucket, as tables fit together, while it is used."
    ),
    "restore": (
        "Put a backup back: into an empty folder, or in place of a lake, with its streams stopped."
    ),
    "export": "Offload a Kafka topic into a folder, as files that a feed of files reads.",
    "convert": (
        "Make a folder's Parquet files a Delta table where they are, without copying a byte."
    ),
    "package": ("Make the archive that executors of a Spark cluster get their Python from."),
    "tables": (
        "Show every table: rows, files, bytes, last commit, and how many rows it lags behind."
    ),
    "catalog": (
        "Register the lake's tables in Unity Catalog, Glue or Hive, and show what is registered."
    ),
    "grants": "Show who may read which tables, and compare that with the catalogue.",
    "sql": ("Query the lake's tables by name, in DuckDB's SQL; nothing is written but the result."),
    "offsets": "Say at which offsets of a feed's topics a time is: a line for the feed's file.",
    "schemas": "Show which columns silver has had, when each came or got wider, and why.",
    "status": (
        "Show streams, lag, last refreshes, failing checks, sinks and disk of this lake, and end."
    ),
    "top": "Watch the streams of this lake live: rows, lag, batches, views, memory, disk.",
    "trace": (
        "Say where a message is now: bronze's file, then silver's table, or quarantine and the "
        "reason."
    ),
    "config": "Show the settings as they are, and who says so.",
    "doctor": "Look at feeds, Java, jars, Kafka, the registry, the lake's folder and the disk.",
}
"""First sentence of each command's own help, by its name, in the order they are listed.

A command `x` is the function `x` of `lake_assets.cli.x`, or the Typer application `app` there."""


class LazyCommands(TyperGroup):
    """The group of all commands; none of them is imported yet."""

    # Typer keeps the types of these arguments in a private copy of Click.
    def __init__(self, **attributes: Any) -> None:  # noqa: ANN401
        """Put a stand-in in each command's place."""
        super().__init__(**attributes)
        for name, text in SUMMARIES.items():
            self.commands[name] = _Late(name, help=text)


class _Late(TyperCommand):
    """Stands for a command; to parse its arguments, the command itself is fetched."""

    def make_context(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - as above
        """The context of the command itself, which the group then runs."""
        return load(str(self.name)).make_context(*args, **kwargs)


def load(name: str) -> TyperCommand | TyperGroup:
    """Import a command."""
    module = import_module(f"lake_assets.cli.{name}")
    if hasattr(module, "app"):
        found = get_group(module.app)
        for command in found.commands.values():
            command.help = _unwrapped(command.help)
        return found
    alone = typer.Typer(add_completion=False)
    alone.command(name)(getattr(module, name))
    command = get_command(alone)
    command.help = _unwrapped(command.help)
    return command  # type: ignore[return-value] # Typer's own, of its vendored Click


def _unwrapped(text: str | None) -> str | None:
    """A docstring without the ends of lines of its source, which Typer would print as they are.

    They stay between paragraphs.
    """
    if text is None:
        return None
    return "\n\n".join(" ".join(part.split()) for part in cleandoc(text).split("\n\n"))


def words_of(given: Sequence[str]) -> str:
    """Which command the words of a command line name, such as `services status`."""
    names = [word for word in given if not word.startswith("-")]
    if not names or names[0] not in SUMMARIES:
        return ""
    found = load(names[0])
    is_group = isinstance(found, TyperGroup) and names[1:] and names[1] in found.commands
    return " ".join(names[:2] if is_group else names[:1])
