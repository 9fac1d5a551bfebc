"""Real servers for tests of sinks."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from lake_assets_tests.alerts.servers import Hook, PostOffice


@pytest.fixture
def hook() -> Iterator[Hook]:
    """A webhook's server, listening."""
    found = Hook()
    found.start()
    yield found
    found.stop()


@pytest.fixture
def open_office() -> Iterator[Callable[..., PostOffice]]:
    """Starts mail servers with aiosmtpd's options."""
    with ExitStack() as stack:

        def start(**options: Any) -> PostOffice:
            office = PostOffice(**options)
            office.start()
            stack.callback(office.stop)
            return office

        yield start


@pytest.fixture
def office(open_office: Callable[..., PostOffice]) -> PostOffice:
    """A mail server without encryption, listening."""
    return open_office()
