"""What the tables of a feed's keys are called: a template a layer.

Bronze, quarantine and views over all keys are called after the feed (`model.tables`).
"""

import re
from collections import Counter
from functools import cache

from pydantic import ValidationInfo, field_validator

from lake_assets.model.base import Noun
from lake_assets.model.tables import KEY_NAME, Layer, TableRef

_KEY, _VIEW = "{key}", "{view}"

_PLACEHOLDERS = {"silver": (_KEY,), "gold": (_KEY, _VIEW)}

_FIXED = re.compile(r"[a-z0-9_]*")

_LONGEST = 64
"""Characters of a template beside its placeholders: with a key (64) and a view (63) a name stays
below the 255 bytes that file systems take."""


class TableNames(Noun):
    """Templates of names; `{key}`, and in gold `{view}`, stand for the key and the view."""

    silver: str = "silver_{key}_events"
    """A key's silver table. A feed without a route has its own name for a key."""

    gold: str = "gold_{key}_{view}"
    """A view's table of a key; a view over all keys is always called `all_{feed}_{view}`."""

    @field_validator("silver", "gold")
    @classmethod
    def _is_a_template(cls, template: str, info: ValidationInfo) -> str:
        placeholders = _PLACEHOLDERS[str(info.field_name)]
        counts = Counter(re.findall(r"\{[^{}]*\}", template))
        for placeholder in placeholders:
            if counts[placeholder] != 1:
                often = f"{counts[placeholder]} times" if counts[placeholder] else "nowhere"
                message = f"{template!r} has {placeholder} {often}\nwrite it once"
                raise ValueError(message)
        fixed = re.split("|".join(map(re.escape, placeholders)), template)
        if not all(map(_FIXED.fullmatch, fixed)):
            message = (
                f"{template!r} cannot name tables\nuse lower-case letters, digits and _ "
                f"around {' and '.join(placeholders)}"
            )
            raise ValueError(message)
        if fixed[0][:1] == "_" or fixed[0][:1].isdigit():
            message = f"{template!r} cannot name tables: begin with a letter or a placeholder"
            raise ValueError(message)
        if not all(fixed[1:-1]):
            message = (
                f"{template!r} does not tell where the key ends\nwrite _ between "
                f"{' and '.join(placeholders)}"
            )
            raise ValueError(message)
        if len("".join(fixed)) > _LONGEST:
            message = (
                f"{template!r} is too long: at most {_LONGEST} characters beside {placeholders[0]}"
            )
            raise ValueError(message)
        return template

    def silver_of(self, key: str) -> TableRef:
        """The typed, append-only table of a key."""
        return TableRef(layer=Layer.SILVER, name=self.silver.replace(_KEY, key))

    def gold_of(self, key: str, view: str) -> TableRef:
        """The materialized view of a key."""
        # The view's first: `{key}` may come as a key where a name is shown as a pattern.
        named = self.gold.replace(_VIEW, view)
        return TableRef(layer=Layer.GOLD, name=named.replace(_KEY, key))

    def key_of_silver(self, name: str) -> str | None:
        """The key whose silver table is called so; None if no key's is."""
        match = _silver_pattern(self.silver).fullmatch(name)
        return match[1] if match else None

    @property
    def around_silver_key(self) -> tuple[str, str]:
        """What silver's tables are called before and after the key."""
        before, _, after = self.silver.partition(_KEY)
        return before, after

    def around_key(self, view: str) -> tuple[str, str]:
        """What a view's tables are called before and after the key."""
        before, _, after = self.gold.replace(_VIEW, view).partition(_KEY)
        return before, after


@cache
def _silver_pattern(template: str) -> re.Pattern[str]:
    before, _, after = template.partition(_KEY)
    return re.compile(f"{re.escape(before)}({KEY_NAME.pattern}){re.escape(after)}")
