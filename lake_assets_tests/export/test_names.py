import pytest

from lake_assets.errors import ExportError
from lake_assets.export.names import LONGEST_TOPIC, FileName, is_part, part_of, stem_of


def named(topic, number, partition=0, first=0, after=1):
    return FileName(
        stem=stem_of(topic),
        number=number,
        partition=partition,
        first=first,
        after=after,
        ending="jsonl",
    )


def test_a_name_says_what_is_in_the_file_and_is_read_back():
    name = named("a.b-c", 12, 3, 1200, 2**63 - 1)
    assert str(name) == "a.b-c-000000012-p3-1200-9223372036854775807.jsonl"
    assert FileName.parse("a.b-c", str(name)) == name
    assert name.part == ".a.b-c-000000012-p3-1200.part"
    assert is_part("a.b-c", name.part)


def test_names_are_in_the_order_in_which_files_were_written():
    names = [str(named("t", number, 5 - number % 6, number)) for number in range(0, 3000, 7)]
    assert sorted(names) == names


@pytest.mark.parametrize(
    "name",
    [
        "t-x-000000001-p0-0-1.jsonl",  # of the topic `t-x`
        "axb-000000001-p0-0-1.jsonl",
        "a.b-1-p0-0-1.jsonl",
        "a.b-000000001-p00-0-1.jsonl",
        "a.b-000000001-p0-0-1.jsonl.gz",
        "a.b-000000001-p0-0-\u0661.jsonl",
        "../a.b-000000001-p0-0-1.jsonl",
        "a.b-000000001-p0-0-1.jsonl\n",
    ],
)
def test_another_name_is_none(name):
    assert FileName.parse("a.b", name) is None
    assert FileName.parse("t", name) is None


def test_what_was_being_written_for_another_topic_is_left_alone():
    assert not is_part("t", part_of("t-x", 1, 0, 0))
    assert not is_part("t-000000001-p0-1", part_of("t", 1, 0, 12))


def test_names_of_topics_that_no_feed_would_read_get_others():
    assert {stem_of("_private"), stem_of(".hidden")} == {"topic=_private", "topic=.hidden"}
    assert stem_of("topic_private") == "topic_private"


@pytest.mark.parametrize("topic", ["../x", "", "a b", ".."])
def test_what_is_no_topic_names_no_file(topic):
    with pytest.raises(ExportError, match=r"^--topic: .* is no topic"):
        stem_of(topic)


def test_a_topic_whose_files_would_have_too_long_names_is_refused():
    longest = "_" + "x" * (LONGEST_TOPIC - 1)
    name = named(longest, 10**12, 2**31, 2**63 - 1, 2**63 - 1)
    assert len(str(name)) <= 255
    assert len(name.part) <= 255
    with pytest.raises(ExportError, match="has 171 characters, and a file's name has room for 170"):
        stem_of(longest + "x")
