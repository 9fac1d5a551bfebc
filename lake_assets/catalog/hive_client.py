"""Asking Hive's metastore: Thrift, with the words of its interface, and what its errors mean."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from lake_assets.errors import CatalogError, SettingsError, first_line
from lake_assets.settings.catalog import CatalogSettings

try:
    import thriftpy2
    from thriftpy2.rpc import make_client
    from thriftpy2.thrift import TException
except ImportError as problem:
    raise SettingsError(
        "thriftpy2",
        "is not installed, and LAKE_ASSETS_CATALOG_KIND is hive",
        "Install it: pip install 'lake-assets[hive]'",
    ) from problem

words: Any = thriftpy2.load(
    str(Path(__file__).with_name("hive_metastore.thrift")), module_name="hive_metastore_thrift"
)
"""The structures and the service of the interface."""

_TIMEOUT_MS = 60_000
"""For connecting, and for each answer: a metastore looks at the folder of a new table."""

_PORT = 9083


class HiveClient:
    """One metastore, asked one thing at a time."""

    def __init__(self, settings: CatalogSettings) -> None:
        """Know where it is; nothing is asked yet."""
        self._url = str(settings.url)

    @property
    def title(self) -> str:
        """Which one."""
        return f"Hive's metastore at {self._url}"

    @contextmanager
    def calling(self, *passed_over: type[Exception]) -> Iterator[Any]:
        """The service; errors of what is called in the block are told in our words.

        Args:
            passed_over: errors that say that nothing is left to do.

        Raises:
            CatalogError: it failed.
        """
        try:
            yield self._service
        except passed_over:
            return
        except (TException, OSError, EOFError) as problem:
            message = str(getattr(problem, "message", "") or problem)
            said = first_line(ValueError(message)) or type(problem).__name__
            if type(problem).__module__ == words.__name__:
                step = "See to what it says; nothing was lost"
                fact = f"refuses ({type(problem).__name__}: {said})"
                raise CatalogError(self.title, fact, step) from problem
            step = "Check LAKE_ASSETS_CATALOG_URL, and whether the metastore runs"
            raise CatalogError(self.title, f"does not answer ({said})", step) from problem

    @cached_property
    def _service(self) -> Any:  # noqa: ANN401 - thriftpy2 has no types
        place = urlsplit(self._url)
        return make_client(
            words.ThriftHiveMetastore,
            str(place.hostname),
            place.port or _PORT,
            timeout=_TIMEOUT_MS,
        )

    def close(self) -> None:
        """End the connection."""
        if "_service" in self.__dict__:
            self._service.close()
