"""Settings of texts that are hidden before they are written (`mask` in a feed)."""

from pydantic import SecretStr

from lake_assets.settings.secret_key import KeyedSettings


class MaskingSettings(KeyedSettings):
    """The secret that columns are hashed with."""

    key: SecretStr | None = None
    """Secret of 16 characters or more that `mask: hash` hashes with. Keep it: with another one the
    same text is another hash, which no older row has."""
