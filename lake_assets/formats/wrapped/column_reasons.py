"""Why silver has its columns where values are envelopes: by the format whose they are."""

from collections.abc import Callable, Sequence
from typing import Any

from lake_assets.formats.base import PayloadFormat
from lake_assets.formats.column_reasons import reasons_of
from lake_assets.formats.tombstones import TombstoneFormat
from lake_assets.formats.wrapped.payload_format import WrappedFormat
from lake_assets.model.payload import Payload
from lake_assets.model.schema_history import Reason


def reasons_of_feed(
    payload: Payload,
    payload_format: PayloadFormat[Any],
    schemas: Any,  # noqa: ANN401 - the format's own
    route: Sequence[str],
) -> Callable[[str, str], Reason]:
    """As `reasons_of`, also where values are envelopes."""
    if payload.wrapped is None:
        return reasons_of(payload, payload_format, schemas, route)
    made = payload_format.inner if isinstance(payload_format, TombstoneFormat) else payload_format
    if not isinstance(made, WrappedFormat):
        message = f"{type(made).__name__} is no format of envelopes"
        raise TypeError(message)
    found, prefix = made, payload.wrapped.prefix
    of_outer = reasons_of(payload, found.outer, schemas.outer, ())
    of_inner = reasons_of(payload.wrapped, found.inner, schemas.inner, ())

    def reason(name: str, kind: str) -> Reason:
        if found.is_of_envelope(schemas, name) or not name.startswith(prefix):
            return of_outer(name, kind)
        return of_inner(name[len(prefix) :], kind)

    return reason
