from lake_assets.delta.renamed_columns import Renames
from lake_assets.formats.subjects.renames import merged_renames

UNO = Renames(now={"colour": "color"}, within={"at": Renames(now={"x": "lat"})})
NAMES = frozenset({"colour", "color", "at"})


def test_one_subject_renames_as_it_does():
    assert merged_renames([(UNO, NAMES)]) is UNO


def test_names_that_no_other_subject_has_are_renamed():
    other = Renames(now={"rating": "elo"})
    got = merged_renames([(UNO, NAMES), (other, frozenset({"rating", "elo"}))])
    assert got == Renames(now={"colour": "color", "rating": "elo"}, within=UNO.within)


def test_a_name_that_another_subject_has_still_is_left_alone():
    for names in ({"colour"}, {"colour", "color"}):
        assert merged_renames([(UNO, NAMES), (Renames(), frozenset(names))]).now == {}


def test_a_new_name_that_another_subject_gave_up_is_left_alone():
    other = Renames(now={"color": "paint"}), frozenset({"color", "paint"})
    assert merged_renames([(UNO, NAMES), other]).now == {}


def test_subjects_that_rename_alike_do_so_together():
    assert merged_renames([(UNO, NAMES), (UNO, NAMES)]) == UNO


def test_fields_within_a_column_that_another_subject_has_otherwise_are_left_alone():
    assert merged_renames([(UNO, NAMES), (Renames(), frozenset({"at"}))]).within == {}
