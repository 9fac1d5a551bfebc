from benchmarks.section import Section

ROWS = (
    {"peer": "floor", "tables": 1, "mb": 700},
    {"peer": "ours", "tables": 1, "mb": 900},
    {"peer": "ours", "tables": 10, "mb": 950, "note": "cut short"},
)


def test_figures_stand_below_the_values_of_their_keys():
    section = Section(name="memory", keys=("peer", "tables"), rows=ROWS)
    assert section.as_json() == {
        "floor": {"1": {"mb": 700}},
        "ours": {"1": {"mb": 900}, "10": {"mb": 950, "note": "cut short"}},
    }


def test_a_note_is_told_with_the_figures():
    section = Section(name="memory", keys=("peer",), rows=ROWS[:1], note="PSS")
    assert section.as_json()["note"] == "PSS"


def test_columns_are_those_of_all_rows_in_their_order():
    assert Section(name="memory", keys=("peer",), rows=ROWS).columns == [
        "peer",
        "tables",
        "mb",
        "note",
    ]
