"""What is stored is asked for: an instance with files, as users have it."""

import dagster as dg
import pytest


@pytest.fixture
def instance(stored: dg.DagsterInstance) -> dg.DagsterInstance:
    """With files."""
    return stored
