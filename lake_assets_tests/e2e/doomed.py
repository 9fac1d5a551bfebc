"""Runs one stage of a feed and kills its own process, as `kill -9` does, at a point of a batch.

`python -m lake_assets_tests.e2e.doomed HOP POINT`, a `Job` as JSON on standard input.
"""

import os
import signal
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import BaseModel

from lake_assets.delta.commit import Batch, Commit
from lake_assets.delta.commit_journal import Journal
from lake_assets.delta.committer import Committer
from lake_assets.formats.base import Surroundings
from lake_assets.formats.catalog import format_of
from lake_assets.model.endpoints import Endpoints, RegistryAccess
from lake_assets.model.feeds import Feed
from lake_assets.model.reports import Stage
from lake_assets.model.tables import Layer, TableRef
from lake_assets.runtime.setup import ensure_runtime
from lake_assets.settings.schema import Settings, StorageSettings
from lake_assets.spark.lake_context import LakeContext, writable
from lake_assets.spark.session import start_session
from lake_assets.state.files import streams_lock
from lake_assets.streams.pipeline import Pipeline, demux_of, follower_of, start_ingest
from lake_assets.streams.schemas import Schemas

AFTER_THE_JOB = "after the job"
BEFORE_THE_COMMITS = "before the commits"
BETWEEN_TWO_COMMITS = "between two commits"
BEFORE_THE_LAST_COMMIT = "before the last commit"
AFTER_THE_COMMITS = "after the commits"


class Job(BaseModel):
    """What to run, and where."""

    settings: Settings
    storage: dict[str, str] = {}
    """Of the settings, which are not told as JSON: they may be secret."""

    feed: Feed
    kafka: str
    registry: str

    @property
    def lake(self) -> Settings:
        """The settings with all that they say."""
        storage = StorageSettings(options=self.storage)
        return self.settings.model_copy(update={"storage": storage})


def die() -> None:
    """End as `kill -9` ends a process: nothing is closed or said."""
    os.kill(os.getpid(), signal.SIGKILL)


@dataclass(frozen=True, slots=True)
class DoomedJournal(Journal):
    """A journal that may not live to note a batch."""

    committer: "DoomedDoor"

    def write(self, batch: Batch, commits: Sequence[Commit], note: str = "") -> None:
        """Note a batch; one that is only finished is not noted again, so this one is new."""
        if self.committer.point == AFTER_THE_JOB:
            die()
        Journal.write(self, batch, commits, note)
        self.committer.is_new = True


class DoomedDoor(Committer):
    """A committer that goes down with a batch that was not begun by a former process."""

    point = ""
    is_new = False

    def append(self, commits: Sequence[Commit], batch: Batch) -> list[TableRef]:
        """Commit as much of a new batch as `point` lets it."""
        is_bronze = any(commit.table.layer is Layer.BRONZE and commit.files for commit in commits)
        is_last = is_bronze or any(c.table.layer is Layer.QUARANTINE for c in commits)
        if not self.is_new and not is_bronze:
            return super().append(commits, batch)
        if self.point == BEFORE_THE_COMMITS or (is_last and self.point == BEFORE_THE_LAST_COMMIT):
            die()
        if self.point == BETWEEN_TWO_COMMITS:
            super().append(commits[: len(commits) // 2], batch)
            die()
        done = super().append(commits, batch)
        if is_last and self.point == AFTER_THE_COMMITS:
            die()
        return done


@dataclass(frozen=True, kw_only=True, slots=True)
class DoomedPipeline(Pipeline):
    """A pipeline with a doomed journal."""

    committer: DoomedDoor

    def journal(self, feed: Feed) -> Journal:
        """The pipeline's own journal, doomed."""
        return DoomedJournal(Pipeline.journal(self, feed).path, self.committer)


def main() -> None:
    """Run until death; to come to an end is a failure."""
    stage, point = Stage(sys.argv[1]), sys.argv[2]
    job = Job.model_validate_json(sys.stdin.read())
    settings = job.lake
    with streams_lock(settings.state_dir), writable(settings) as lake:
        committer = DoomedDoor(lake, threads=2)
        committer.point = point
        pipeline = DoomedPipeline(
            session=start_session(settings, ensure_runtime(settings)),
            endpoints=Endpoints(kafka=job.kafka, registry=job.registry),
            context=LakeContext(committer=committer, buffer_bytes=2**28),
            stream=settings.stream,
            state_dir=settings.state_dir,
            report=lambda _: None,
            committer=committer,
        )
        schemas = Schemas(
            feed=job.feed,
            format=format_of(
                job.feed,
                Surroundings(registry=job.registry, registry_access=RegistryAccess()),
            ),
            stop=threading.Event(),
            announce=lambda _: None,
        )
        if stage is Stage.INGEST:
            start_ingest(pipeline, job.feed, until_caught_up=True).awaitTermination()
        else:
            follower_of(pipeline, demux_of(pipeline, job.feed, schemas)).drain()


if __name__ == "__main__":
    main()
