"""When a file has stood still for long enough to be read. Decides by what it is told."""

from dataclasses import dataclass, field

from lake_assets.sources.files.found import Found


@dataclass
class Settling:
    """Files that have not stood still long enough, as far as we saw. Decides by what it is told."""

    settle_s: float
    _seen: dict[str, tuple[Found, float]] = field(default_factory=dict)

    def is_settled(self, file: Found, now: float, now_ns: int) -> bool:
        """Whether a file has settled.

        Args:
            file: as it is now.
            now: seconds of a clock that only grows.
            now_ns: nanoseconds since 1970: a file that is older than that by the file system's
                clock is settled at the first look.
        """
        if not self.settle_s or now_ns - file.modified_ns >= self.settle_s * 1e9:
            self._seen.pop(file.name, None)
            return True
        known, since = self._seen.get(file.name, (None, now))
        if known is None or not file.is_as(known):
            self._seen[file.name] = (file, now)
            return False
        if now - since < self.settle_s:
            return False
        del self._seen[file.name]
        return True

    def forget(self, names: set[str]) -> None:
        """Forget all but these."""
        self._seen = {name: seen for name, seen in self._seen.items() if name in names}

    def __len__(self) -> int:
        """How many are waited for."""
        return len(self._seen)
