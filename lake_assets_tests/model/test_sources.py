import pytest
from pydantic import ValidationError

from lake_assets.model.sources import KafkaSource


@pytest.mark.parametrize(
    ("declared", "fact"),
    [
        ({}, "give either `topic` or `topics`"),
        ({"topic": "a", "topics": ["b"]}, "give either `topic` or `topics`"),
        ({"topic": "a.*"}, "'a.*' is no topic"),
        ({"topic": ""}, "'' is no topic"),
        ({"topics": []}, "at least 1 item"),
        ({"topics": ""}, "at least 1 item"),
        ({"topics": ["a", "a"]}, "two topics are called a"),
        ({"topics": ["a b"]}, "is no topic"),
        ({"topics": "game-*+"}, "is no pattern of topics"),
        ({"topics": ["a"], "starting_offsets": {0: 1}}, "name the topic"),
        ({"topic": "a", "starting_offsets": {"a": {0: 1}}}, "of one topic\nname no topic"),
        ({"topics": ["a"], "starting_offsets": {"b": "latest"}}, "'b' is none of its topics"),
        ({"topics": "a.*", "starting_offsets": {"b": "latest"}}, "'b' is none of its topics"),
        ({"topic": "a", "starting_offsets": {0: -5}}, "-5 is no partition, or no offset of one"),
        ({"topic": "a", "starting_offsets": {-1: 5}}, "-1 is no partition, or no offset of one"),
        ({"topic": "a", "starting_offsets": {0: 2**63}}, "is no partition, or no offset of one"),
        ({"topics": ["a"], "starting_offsets": {"a": {0: -3}}}, "-3 is no partition, or no"),
    ],
)
def test_what_says_nothing_clear_is_refused(declared, fact):
    with pytest.raises(ValidationError, match=fact):
        KafkaSource(**declared)


@pytest.mark.parametrize(
    ("declared", "label", "title"),
    [
        ({"topic": "a"}, "a", "topic 'a'"),
        ({"topics": ["a", "b"]}, "a, b", "topics 'a', 'b'"),
        ({"topics": "a.*"}, "a.*", "topics that match 'a.*'"),
    ],
)
def test_what_is_read_is_told_in_words(declared, label, title):
    source = KafkaSource(**declared)
    assert (source.label, source.title) == (label, title)


def test_a_source_reads_its_topics_and_no_others():
    names = ["a", "ab", "b"]
    assert [n for n in names if KafkaSource(topic="a").reads(n)] == ["a"]
    assert [n for n in names if KafkaSource(topics=["a", "b"]).reads(n)] == ["a", "b"]
    assert [n for n in names if KafkaSource(topics="a.*").reads(n)] == ["a", "ab"]


def test_each_topic_begins_where_it_is_said_and_else_at_its_first_row():
    source = KafkaSource(topics="a.*", starting_offsets={"a": "latest", "ab": {0: 7}})
    assert [source.start_of(name) for name in ("a", "ab", "ac")] == ["latest", {0: 7}, "earliest"]
    assert KafkaSource(topics=["a"], starting_offsets="latest").start_of("a") == "latest"
