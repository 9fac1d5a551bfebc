"""Settings of erasures."""

from pydantic import SecretStr

from lake_assets.settings.group import Cron
from lake_assets.settings.secret_key import KeyedSettings


class ErasureSettings(KeyedSettings):
    """How values that were erased are remembered."""

    key: SecretStr | None = None
    """Secret of 16 characters or more that erased values are hashed with; by default one that lies
    in the lake. Keep it: without it nobody can tell whose rows are to stay erased."""

    schedule: Cron = "15 4 * * *"
    """When Dagster does what the table of requests asks for, and what is not done (cron, UTC)."""
