"""What follows for a feed from its route: its keys, and where a row's key is read from."""

from typing import TYPE_CHECKING, ClassVar

from lake_assets.model.routes import Route, TableColumns, Unknown
from lake_assets.model.tables import Layer
from lake_assets.model.transforms import generators_in
from lake_assets.model.unique_names import both
from lake_assets.model.without_silver import Silver, ensure_has_what_sinks_read

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

    from lake_assets.model.gold_views import GoldView
    from lake_assets.model.keyed import Keyed
    from lake_assets.model.payload import Payload
    from lake_assets.model.selects import Selects
    from lake_assets.model.sinks import Sink
    from lake_assets.model.transforms import FunctionName, SelectItem


class Routed:
    """The part of `model.feeds.Feed` that its route decides."""

    if TYPE_CHECKING:
        feed: str
        into: str | None
        payload: Payload
        silver: Silver
        route: Route | None
        routes: tuple[Route, ...]
        columns: TableColumns
        transform: FunctionName | None
        select: tuple[SelectItem, ...]
        selects: Selects
        selects_by_key: bool
        keyed: Keyed | None
        gold: tuple[GoldView, ...]
        sinks: tuple[Sink, ...]
        model_fields: ClassVar[dict[str, FieldInfo]]

    @property
    def all_routes(self) -> tuple[Route, ...]:
        """What says where a row goes; none if all rows are of one key."""
        return self.routes if self.route is None else (self.route,)

    @property
    def has_silver(self) -> bool:
        """Whether its rows go to silver tables, with quarantine beside them."""
        return self.silver is Silver.TABLES

    @property
    def layers_without_tables(self) -> tuple[Layer, ...]:
        """Where it has no tables of its own: its rows may go into another feed's, or nowhere."""
        if not self.has_silver:
            return Layer.SILVER, Layer.GOLD, Layer.QUARANTINE
        return (Layer.SILVER, Layer.GOLD) if self.into is not None else ()

    @property
    def keys(self) -> tuple[str, ...]:
        """The declared keys; without a route the one key there is; none without silver tables."""
        if not self.has_silver:
            return ()
        if not self.all_routes:
            return (self.into or self.feed,)
        return tuple(dict.fromkeys(key for route in self.all_routes for key in route.keys))

    @property
    def creates_keys(self) -> bool:
        """Whether a key that is not declared gets its tables with its first row."""
        return any(route.unknown is Unknown.CREATE for route in self.all_routes)

    @property
    def has_rows_in_several_tables(self) -> bool:
        """Whether a row may be in the tables of several keys."""
        return len(self.all_routes) > 1

    @property
    def has_own_columns(self) -> bool:
        """Whether a key's table has the columns of its own rows alone."""
        return self.columns is TableColumns.OWN or bool(self.selects)

    @property
    def routed_by(self) -> str:
        """What says where a row goes, in words; empty if all rows are of one key."""
        return "; ".join(route.what for route in self.all_routes)

    @property
    def route_column(self) -> str | None:
        """Silver's column that a row's key is read from; None if it is from something else."""
        return self.all_routes[0].plain_column if len(self.all_routes) == 1 else None

    @property
    def view_key_column(self) -> str | None:
        """What the key is called beside the rows of a view's tables of all keys; None without."""
        return self.route_column or ("key" if self.all_routes else None)

    @property
    def route_columns(self) -> tuple[str, ...]:
        """The same, as formats take it: rows of messages without it are refused."""
        return () if self.route_column is None else (self.route_column,)

    @property
    def key_column(self) -> str | None:
        """Silver's column whose values are the keys themselves; None if there is none."""
        is_other = any(route.aliases for route in self.all_routes) or self.selects_by_key
        return None if is_other else self.route_column

    @property
    def keeps_headers(self) -> bool:
        """Whether quarantine keeps rows' headers, since they are routed by one."""
        return any(route.header is not None for route in self.all_routes)

    @property
    def _given(self) -> frozenset[str]:
        """Names of fields that are not as they are by default."""
        fields = type(self).model_fields.items()
        usual = {name: field.get_default(call_default_factory=True) for name, field in fields}
        return frozenset(name for name, value in usual.items() if getattr(self, name) != value)

    def ensure_routable(self) -> None:
        """Make sure that a route reads what rows have, and rows go to tables that there are.

        Raises:
            ValueError: one does not.
        """
        ensure_has_what_sinks_read(self.silver, self._given, self.sinks, self.payload)
        if self.route is not None and self.routes:
            message = f"{both(['route', 'routes'])}\ngive either `route` or `routes`"
            raise ValueError(message)
        if any(route.message for route in self.all_routes) and not self.payload.has_messages:
            whose = "values" if self.payload.wrapped is None else "wrapped messages"
            kind = (self.payload.wrapped or self.payload).format
            message = f"route: message: {whose} of {kind} have no message types"
            if kind == "json":
                message += " without a subject"
            raise ValueError(message)
        if self.columns is TableColumns.OWN:
            self._ensure_columns_can_be_own()

    def _ensure_columns_can_be_own(self) -> None:
        told = {
            "transform": (self.transform, "a function does not tell whose columns it makes"),
            "select": (generators_in(self.select), "rows of elements have those of every message"),
            "keyed": (
                self.keyed or any(view.keyed for view in self.gold),
                "keyed tables have all of silver's columns",
            ),
            "into": (self.into, "the tables are another feed's, which has other messages"),
        }
        for name, (value, why) in told.items():
            if value:
                message = f"columns: own: cannot be beside `{name}`, since {why}\nleave one out"
                raise ValueError(message)
        if [route.message for route in self.all_routes] != [True]:
            message = "columns: own: only messages tell whose columns are whose\nroute by `message`"
            raise ValueError(message)
