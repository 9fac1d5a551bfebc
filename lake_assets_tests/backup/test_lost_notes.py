import json

import pytest

from lake_assets.backup.consistent_cut import choose_versions
from lake_assets.backup.manifest import TablePart
from lake_assets.errors import StreamError
from lake_assets.silver.lost_rows import clear_lost, lost_rows, note_lost
from lake_assets.silver.recovery import ensure_none_restored
from lake_assets.storage.local import LocalStore
from lake_assets_tests.backup.lakes import QUARANTINE, backed_up, place_at, restored
from lake_assets_tests.backup.test_verify import wrong

FACT = "silver_uno_events lacked files when feed 'twin' was derived again"


def lost_in(settings):
    return lost_rows(LocalStore.at(settings.lake_dir), "games")


def test_a_restored_lake_refuses_what_the_one_that_was_backed_up_did(
    settings, lake, place, elsewhere
):
    note_lost(lake.store, ["games"], FACT)
    manifest = backed_up(settings, place)
    assert manifest.notes == (f"{FACT}: its streams wait for `rebuild silver`",)
    assert wrong(place, read=True) == []
    restored(elsewhere, place)
    assert lost_in(elsewhere) == FACT
    with pytest.raises(StreamError, match="lacked files"):
        ensure_none_restored("games", LocalStore.at(elsewhere.lake_dir), {})


def test_what_was_lost_since_the_backup_is_there_again_with_it(settings, lake, place):
    backed_up(settings, place)
    note_lost(lake.store, ["games"], FACT)
    backed_up(settings, place)
    restored(settings, place, number=1, force=True)
    assert lost_in(settings) == ""
    restored(settings, place, number=2, force=True)
    assert lost_in(settings) == FACT


def test_a_note_that_is_not_what_was_copied_is_told(settings, lake, place):
    note_lost(lake.store, ["games"], FACT)
    manifest = backed_up(settings, place)
    part = place / "backups" / manifest.folder / f"{QUARANTINE.relative}.json"
    part.write_text(part.read_text().replace("twin", "plain"))
    (told,) = wrong(place, read=False)
    assert "is damaged (its checksum is another one)" in told


@pytest.mark.usefixtures("lake")
def test_parts_are_those_of_earlier_releases_where_nothing_was_lost(settings, place):
    found = place_at(place)
    manifest = backed_up(settings, place)
    file = found.part_file(manifest.folder, QUARANTINE.relative)
    known = {"table", "version", "log", "files"}
    noted = json.loads(found.store.get(file))
    assert noted.keys() == known
    earlier = TablePart.model_validate({**noted, "journal": None})
    assert earlier.lost is None


class Changing(LocalStore):
    """A lake in which something happens between two looks at what was lost."""

    looks = 0
    change = staticmethod(lambda: None)

    def get(self, file):
        if file.name == "_lost_rows.txt":
            self.looks += 1
            if self.looks == 2:
                self.change()
        return super().get(file)


@pytest.mark.parametrize("change", [clear_lost, lambda lake, feed: note_lost(lake, [feed], FACT)])
def test_of_what_changes_while_versions_are_chosen_the_worse_is_taken(lake, change):
    if change is clear_lost:
        note_lost(lake.store, ["games"], FACT)
    store = Changing.at(lake.settings.lake_dir)
    store.change = lambda: change(lake.store, "games")
    cut = choose_versions(store, lambda _: None)
    assert store.looks == 2
    assert dict(cut.losses) == {QUARANTINE: FACT}
