import pytest

from lake_assets.spark.error_words import spark_words


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (
            "[UNRESOLVED_COLUMN.WITH_SUGGESTION] No `n`. SQLSTATE: 42703; line 1 pos 4;\n",
            "No `n`",
        ),
        ("Column 'n' does not exist; line 1 pos 0", "Column 'n' does not exist"),
        ("[DIVIDE_BY_ZERO] Division by zero. SQLSTATE: 22012", "Division by zero"),
        ("nothing of Spark's", "nothing of Spark's"),
    ],
)
def test_the_condition_its_number_and_its_place_are_left_out(said, words):
    assert spark_words(Exception(said)) == words
