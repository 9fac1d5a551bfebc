"""What can go wrong, each kind a class that says so, with its facts as attributes.

All are `LakeAssetsError`s; those of the registry, sources, the lake and streams have a class above
them. A message names the thing, the fact and the next step, in that order.
"""

from collections.abc import Iterator, Sequence

_SHOWN_NAMES = 10
"""Names that a message shows; a row may have any number of them."""


def first_line(problem: BaseException) -> str:
    """What an error says first, for use in a sentence: another library's may end in a backtrace."""
    return str(problem).strip().partition("\n")[0].rstrip(".")


def causes_of(problem: BaseException) -> Iterator[BaseException]:
    """An error and what led to it, each once, the innermost last."""
    seen: set[int] = set()
    current: BaseException | None = problem
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        yield current
        current = current.__cause__ or current.__context__


def with_step(fact: str, next_step: str) -> str:
    """A fact and what to do about it, as sentences; a fact may end with a question."""
    if not next_step:
        return fact
    return f"{fact} {next_step}" if fact.endswith("?") else f"{fact}. {next_step}"


class LakeAssetsError(Exception):
    """Anything this package raises on purpose; the CLI prints it in one line."""


class _ThreePartError(LakeAssetsError):
    """An error built from a thing, a fact and a next step."""

    def __init__(self, thing: str, fact: str, next_step: str) -> None:
        """Keep the three parts and join them into one line."""
        super().__init__(f"{thing}: {with_step(fact, next_step)}")
        self.thing = thing
        self.fact = fact
        self.next_step = next_step


class SettingsError(_ThreePartError):
    """A setting or an environment variable has a value that cannot be used."""


class UsageError(_ThreePartError):
    """Options of a command do not go together, or one is missing; nothing was done."""


class FeedError(_ThreePartError):
    """A feed's declaration cannot be used; `thing` is the file and the line or field."""

    file: str | None = None
    line: int | None = None
    column: int | None = None


class ErasureError(_ThreePartError):
    """What is asked to be erased cannot be, or is not yet; asked again, it goes on."""


class RuntimeSetupError(_ThreePartError):
    """Java, Spark's jars or an embedded service's jars are missing or damaged."""


class ServiceError(_ThreePartError):
    """An embedded service does not start, does not answer, or belongs to somebody else."""


class SourceError(_ThreePartError):
    """A source of events (a broker, a topic) cannot be reached, refuses us or does not exist."""


class SourceNotFoundError(SourceError):
    """The broker is up and has no such topic."""


class RegistryError(_ThreePartError):
    """The schema registry cannot be reached or refuses; a passing fault, so callers may wait."""


class SchemaNotFoundError(RegistryError):
    """The registry is up and has no such schema; asking again will not help."""


class SchemaUnusableError(RegistryError):
    """A registered schema is not valid or makes no columns; only another version of it will."""


class LakeError(_ThreePartError):
    """A table or the lake's folder cannot be read or written."""


class NoBucketError(LakeError):
    """A bucket is not there."""


class StoreAwayError(LakeError):
    """A bucket's store does not answer, or is overloaded; asked later, it may."""


class DamagedBackupError(LakeError):
    """What a backup says of itself is not what was written, or is gone."""


class CommitConflictError(LakeError):
    """Another writer committed the same micro-batch, or changed the table under this commit."""


class ColumnsChangedError(LakeError):
    """A table has other columns by now than the files that were written for it; none was added."""


class OutgrownFilesError(LakeError):
    """Another process made a table's columns wider than new files of it; none was committed."""


class ForeignStateError(LakeError):
    """A lake and a state folder do not belong together; neither was changed."""

    def __init__(
        self, *, lake: str, state: str, ids: tuple[str, str], why: str, next_step: str
    ) -> None:
        """Record both folders, what each says of its id in words, why that does not fit."""
        of_lake, of_state = ids
        super().__init__(
            f"state folder {state}",
            f"has {of_state}, and lake {lake} has {of_lake}: {why}",
            next_step,
        )
        self.lake = lake
        self.state = state
        self.ids = ids


class LeaseHeldError(LakeError):
    """Another machine, or another state folder, writes the lake; nothing was written."""

    def __init__(self, lake: str, holder: str) -> None:
        """Record the lake, and in words who writes it."""
        fact = f"is written by {holder}"
        super().__init__(lake, fact, "Stop that first, or let it go on")


class LeaseLostError(LakeError):
    """Another machine writes the lake by now; what this process wrote since does not count."""

    def __init__(self, lake: str, holder: str) -> None:
        """Record the lake, and in words who writes it."""
        fact = f"is written by {holder} by now: this process was not heard of for too long"
        super().__init__(lake, fact, "Let it go on; rows not committed here come again there")


class TableOwnedError(LakeError):
    """A table has the name that is asked for, and was created for somebody else."""

    def __init__(self, table: str, *, owner: str, holder: str) -> None:
        """Record who asks for the table and whose it is, both in words."""
        super().__init__(
            table,
            f"is the table of {holder}, not of {owner}",
            "Rename one of them; or, if that one is gone for good, delete the folder",
        )
        self.owner = owner
        self.holder = holder


class TableFeatureError(LakeError):
    """A table's protocol, properties or columns ask for what is not supported; nothing was done."""

    def __init__(self, table: str, feature: str, fact: str, next_step: str) -> None:
        """Record the table and Delta's name of the feature."""
        super().__init__(table, fact, next_step)
        self.table = table
        self.feature = feature


class ConstraintViolatedError(LakeError):
    """New rows violate a constraint of their table; nothing of their batch was committed."""

    def __init__(self, table: str, constraint: str, fact: str, next_step: str) -> None:
        """Record the table and the constraint's name."""
        super().__init__(table, fact, next_step)
        self.table = table
        self.constraint = constraint


class PartitionsExceededError(LakeError):
    """A batch has rows of too many partitions of a table; nothing of it was committed."""

    def __init__(self, table: str, partition_by: str, count: int, most: int) -> None:
        """Record the table and how many partitions there would be a file for."""
        super().__init__(
            table,
            f"would get {count:,} files of one batch, since that has rows of so many values of "
            f"{partition_by}; at most are {most:,}",
            "Partition by what has fewer values, or use `cluster_by`, and run `lake-assets rebuild "
            "silver`; or let smaller batches through (LAKE_ASSETS_STREAM_MAX_ROWS_PER_BATCH)",
        )
        self.table = table
        self.count = count


class StreamError(_ThreePartError):
    """A streaming query ended with an error, or may not start."""


class StreamsLockedError(StreamError):
    """Another live process holds the lock on this lake's streams."""

    def __init__(self, lock: str, holder: str) -> None:
        """Record the lock file and what is known of its holder."""
        super().__init__(
            "streams",
            f"already running for this lake ({holder}; lock {lock})",
            "Stop that process first, or let it go on",
        )
        self.lock = lock
        self.holder = holder


class ExpectationFailedError(StreamError):
    """Rows violate an expectation whose action is `fail`; nothing of their batch was committed."""

    def __init__(self, expectation: str, key: str, found: str) -> None:
        """Record which expectation which key's rows violate; `found` says how many, and which."""
        super().__init__(
            f"expectation {expectation!r} of key {key!r}",
            found,
            "Repair the rule, its action or the data; the streams go on where they were",
        )
        self.expectation = expectation
        self.key = key


class UnknownColumnsError(StreamError):
    """Rows have names that nothing declares; `on_unknown: fail` stops their feed before them."""

    def __init__(self, feed: str, names: Sequence[str]) -> None:
        """Record the names, the first of which the message shows."""
        more = len(names) - _SHOWN_NAMES
        shown = ", ".join(names[:_SHOWN_NAMES]) + (f" and {more} more" if more > 0 else "")
        super().__init__(
            f"payload of feed {feed!r}",
            f"rows have names that no column is declared for: {shown}",
            "Declare them, or another `on_unknown`, and start the streams again; they go on where "
            "they were",
        )
        self.names = tuple(names)


class PoisonedBatchError(StreamError):
    """The same batch failed again and again by what is its own; its feed stands still."""

    def __init__(self, feed: str, stage: str, *, batch: str, failures: int, cause: str) -> None:
        """Record whose batch, which part of its source in words, how often it failed, and why."""
        super().__init__(
            f"{stage} of feed {feed!r}",
            f"failed {failures} times at the same batch ({batch}): {cause.rstrip('.')}",
            f"Repair the cause and run `lake-assets stream --retry-batch {feed}`; or go on without "
            "the batch by `--skip-batch`, which puts its rows aside",
        )
        self.feed = feed
        self.stage = stage
        self.batch = batch
        self.failures = failures
        self.cause = cause


class SinkError(_ThreePartError):
    """A feed's sink cannot deliver rows as things are; it stands still, and loses none."""


class QueryError(_ThreePartError):
    """A query over the lake cannot run, or asks for what is not read here; nothing was changed."""


class ExportError(_ThreePartError):
    """A topic cannot be exported into a folder; what was exported before is as it was."""


class CatalogError(_ThreePartError):
    """A catalogue cannot be reached or refuses; the lake is as it was."""


class AlertError(_ThreePartError):
    """A sink of alerts does not take one; it waits and is sent again."""
