"""Names that are known, in few bytes each."""

from lake_assets.sources.files import known_names
from lake_assets.sources.files.found import Found
from lake_assets.sources.files.known_names import KnownNames


def test_new_names_and_changed_ones_are_told_apart(monkeypatch):
    monkeypatch.setattr(known_names, "_MOST_RECENT", 50)
    files = [Found(f"{number}.jsonl", number, number) for number in range(1_000)]
    known = KnownNames()
    assert known.split(files) == (files, [])
    for start in range(0, 1_000, 30):
        known.add(files[start : start + 30])
    assert known.split(files) == ([], [])
    changed = [file._replace(size=-1) for file in files[::7]]
    assert known.split([*changed, Found("new", 1, 1)]) == ([Found("new", 1, 1)], changed)
    known.add(changed)
    known.add(Found(f"more {number}", 0, 0) for number in range(60))
    assert known.split(changed) == ([], [])
    assert known.split(files[::7]) == ([], files[::7])
    assert known.split([]) == ([], [])
