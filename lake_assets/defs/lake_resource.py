"""The resource through which assets reach the lake: one Spark session a run, and tables by key.

Ours use it, and so may those of any project: `lake.read(gold_key("games", "player_agg"), "poker")`.
It is replaced in tests as any resource is. Below `defs` nobody knows it: work takes a session that
is lent (`spark.lent_session`).
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import dagster as dg
import dagster_pyspark
from pydantic import Field, PrivateAttr, SecretStr

from lake_assets.defs.lazy_imports import KeptSession, arrow_rows, spark_rows
from lake_assets.defs.readable_tables import Asked, table_asked_for
from lake_assets.errors import SettingsError
from lake_assets.feeds.load import load_feeds
from lake_assets.model.feeds import Feed
from lake_assets.model.tables import TableRef
from lake_assets.settings.load import load_settings
from lake_assets.settings.schema import Settings
from lake_assets.storage.open_store import lake_of

if TYPE_CHECKING:
    import pyarrow as pa

    from lake_assets.spark.lent_session import Frame, LendSpark, Session

Key = dg.AssetKey | str | Sequence[str]


class LakeResource(dagster_pyspark.PySparkResource):
    """A lake's tables, and one Spark session for them that starts at its first use.

    The session ends with the run; one that was there before is used and left running. Signal
    handlers are as they were before it. Without any field, the lake is that of the environment
    (`LAKE_ASSETS_HOME` and so on), where also secrets come from.
    """

    spark_config: dict[str, Any] = Field(
        default_factory=dict,
        description="Further properties of Spark, such as {'spark.executor.memory': '4g'}.",
    )
    home: str = Field(default="", description="In place of LAKE_ASSETS_HOME.")
    lake: str = Field(default="", description="In place of LAKE_ASSETS_LAKE: folder or bucket.")
    feeds: str = Field(default="", description="In place of LAKE_ASSETS_FEEDS.")

    _given: ClassVar[tuple[Settings, Sequence[Feed]] | None] = None
    """Set where definitions were built from settings and feeds of their own."""

    _loaded: tuple[Settings, Sequence[Feed]] | None = PrivateAttr(default=None)
    _kept: "KeptSession | None" = PrivateAttr(default=None)

    def read(
        self,
        key: Key | None = None,
        partition: str | None = None,
        *,
        feed: str | None = None,
        view: str | None = None,
        columns: Sequence[str] | None = None,
    ) -> "pa.Table":
        """All rows of a table of silver or gold as an Arrow table; needs no Spark.

        Args:
            key: of the asset; or its name, such as `gold_player_agg`.
            partition: whose table; none of a view over all keys.
            feed: in place of a key, the feed's name.
            view: with it, the gold view's; without it, it is the feed's silver.
            columns: only these; all by default.

        Raises:
            LakeError: no such asset, partition or column, or the table is not there yet.
        """
        table, step = self._table(Asked(key=key, partition=partition, feed=feed, view=view))
        return arrow_rows(lake_of(self._settings), table, columns, step=step)

    def read_spark(
        self,
        key: Key | None = None,
        partition: str | None = None,
        *,
        feed: str | None = None,
        view: str | None = None,
        columns: Sequence[str] | None = None,
    ) -> "Frame":
        """As `read`, as a Spark DataFrame that reads nothing before an action on it."""
        table, step = self._table(Asked(key=key, partition=partition, feed=feed, view=view))
        lake = lake_of(self._settings)
        return spark_rows(self.spark_session, lake, table, columns, step=step)

    @property
    def spark_session(self) -> "Session":
        """The run's session, with Delta and the lake's store set up; started by the first use."""
        return self._sessions.session()

    @property
    def lend(self) -> "LendSpark":
        """The session for work below Dagster, which starts it only if it needs one."""
        return self._sessions.lend

    def setup_for_execution(self, context: dg.InitResourceContext) -> None:
        """Start nothing: many runs need no Spark.

        Raises:
            SettingsError: a launch names another lake than the definitions were built for.
        """
        del context
        if self._given is not None:
            _ensure_as_built(self, self._given[0])

    def teardown_after_execution(self, context: dg.InitResourceContext) -> None:
        """Stop the session, if one was started here."""
        del context
        if self._kept is not None:
            self._kept.stop()

    @property
    def _sessions(self) -> KeptSession:
        if self._kept is None:
            self._kept = KeptSession(_with_properties(self._settings, self.spark_config))
        return self._kept

    @property
    def _settings(self) -> Settings:
        return self._opened()[0]

    def _table(self, asked: Asked) -> tuple[TableRef, str]:
        settings, feeds = self._opened()
        return table_asked_for(settings, feeds, asked)

    def _opened(self) -> tuple[Settings, Sequence[Feed]]:
        """Settings and feeds: those given, or read once, at the first use."""
        if self._given is not None:
            return self._given
        if self._loaded is None:
            settings = load_settings(home=_path(self.home), lake=_path(self.lake))
            self._loaded = (settings, load_feeds(_path(self.feeds) or settings.feeds))
        return self._loaded


def _path(text: str) -> Path | None:
    return Path(text) if text else None


def _place_of(settings: Settings) -> dict[str, Any]:
    """The fields of a resource of these settings."""
    feeds = str(settings.feeds) if settings.feeds else ""
    return {"home": str(settings.home), "lake": str(settings.lake_root), "feeds": feeds}


def _ensure_as_built(resource: LakeResource, settings: Settings) -> None:
    """Refuse a place from a launchpad: partitions and steps are of the lake that was loaded."""
    for name, value in _place_of(settings).items():
        given = getattr(resource, name)
        if given not in {"", value}:
            fact = f"is {given!r} in this launch, and the definitions are of {value!r}"
            raise SettingsError(f"resource field {name!r}", fact, "Leave it as it was")


def _with_properties(settings: Settings, properties: Mapping[str, Any]) -> Settings:
    further = {name: SecretStr(_text(value)) for name, value in properties.items()}
    conf = {**settings.spark.conf, **further}
    spark = settings.spark.model_copy(update={"conf": conf})
    return settings.model_copy(update={"spark": spark}) if further else settings


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def lake_resource(settings: Settings, feeds: Sequence[Feed]) -> LakeResource:
    """The resource for these settings and feeds, secrets included, which no page shows."""

    class OfSettings(LakeResource):
        _given: ClassVar[tuple[Settings, Sequence[Feed]] | None] = (settings, tuple(feeds))

    # What the page of resources says.
    OfSettings.__name__, OfSettings.__qualname__ = "LakeResource", "LakeResource"
    OfSettings.__doc__ = LakeResource.__doc__
    return OfSettings(**_place_of(settings))


_KEPT = 15
"""Lakes whose rooms may be built in any order. A process of tests builds many."""

_made: list[tuple[Settings, tuple[Feed, ...], LakeResource]] = []
"""Of the newest definitions: merged, they must have the very same object."""


def resources(settings: Settings, feeds: Sequence[Feed]) -> dict[str, LakeResource]:
    """What a room's definitions need whose steps reach the lake, under the key of the settings."""
    for made, of, resource in _made:
        # Rooms of one feed among them take the same.
        if made == settings and all(feed in of for feed in feeds):
            return {resource_key(settings): resource}
    resource = lake_resource(settings, feeds)
    _made[:] = [*_made[-_KEPT:], (settings, tuple(feeds), resource)]
    return {resource_key(settings): resource}


def resource_key(settings: Settings) -> str:
    """Under which key steps of this lake find their resource."""
    return settings.dagster.lake_resource


def lake_in(context: dg.OpExecutionContext | Any, settings: Settings) -> LakeResource:  # noqa: ANN401 - of a step, an asset or a check
    """The resource of a step that requires `resource_key`."""
    found: LakeResource = getattr(context.resources, resource_key(settings))
    return found
