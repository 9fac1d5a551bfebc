import pytest

from lake_assets.composition.arguments import Asked, open_lake
from lake_assets.errors import LakeError, SettingsError


def lake_at(folder, prefix=()):
    return open_lake(Asked(lake=folder, key_prefix=[*prefix]), {})


def test_the_only_lake_is_the_one_that_is_meant(built, tmp_path):
    assert built.find("it", None) is None
    lake = lake_at(tmp_path / "lake", ["prod"])
    built.remember(lake)
    built.remember(lake)  # such as assets first, then streams
    assert built.find("it", None) is lake
    assert built.find("it", ["prod"]) is lake
    assert built.find("it", []) is None
    assert built.at(str(lake.settings.lake_root)) is lake
    assert built.at("elsewhere") is None


def test_of_several_one_must_be_told(built, tmp_path):
    for name in ("prod", "dev"):
        built.remember(lake_at(tmp_path / name, [name]))
    with pytest.raises(SettingsError, match=r"several lakes .*prod \(prefix prod\), .*dev"):
        built.find("gold_key('games', 'x')", None)
    assert built.find("it", ["dev"]).prefix == ("dev",)


def test_a_name_that_was_asked_for_too_early_must_be_what_it_is_then(built, tmp_path):
    built.note_early("silver_key('games')", "silver", lambda lake: "/".join(lake.prefix))
    with pytest.raises(SettingsError, match=r"before .* was built, and gave silver; now: prod"):
        built.remember(lake_at(tmp_path / "lake", ["prod"]))


def test_an_early_name_that_holds_is_fine_and_asked_about_once(built, tmp_path):
    built.note_early("it", "prod", lambda lake: "/".join(lake.prefix))
    built.remember(lake_at(tmp_path / "prod", ["prod"]))
    built.remember(lake_at(tmp_path / "dev", ["dev"]))


def test_what_a_lake_does_not_have_is_told_in_its_words(built, tmp_path):
    def lacking(_):
        raise LakeError("view", "is not there", "Look")

    built.note_early("it", "gold", lacking)
    with pytest.raises(SettingsError, match=r"now: view: is not there"):
        built.remember(lake_at(tmp_path / "lake"))
