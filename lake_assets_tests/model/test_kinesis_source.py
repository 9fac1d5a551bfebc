import pytest
from pydantic import ValidationError

from lake_assets.model.sources import Source

KEY = {"id": {"env": "A"}, "secret": {"env": "B"}}


def test_a_stream_is_one_source_whose_rows_the_lake_numbers():
    source = Source.model_validate(
        {"kinesis": {"stream": "play", "starting_position": "2026-11-01T00:00:00Z"}}
    )
    assert source.index_of("games").name == "bronze_games_landed"
    assert source.kinesis.begins_at.year == 2026
    assert source.declared.names == ("play",)


@pytest.mark.parametrize(
    ("declared", "fact"),
    [
        ({"stream": "a:b"}, "is no name of a stream"),
        ({"endpoint_url": "kinesis.local"}, "is no address"),
        ({"endpoint_url": "http://me:secret@host"}, "is no address"),
        ({"profile": "p", "access_key": KEY}, "either `profile` or `access_key`"),
        ({"access_key": {"id": "AKIA", "secret": "x"}}, "access_key"),
        ({"starting_position": "2026-11-01T00:00:00"}, "starting_position"),
    ],
)
def test_what_cannot_be_read_is_refused(declared, fact):
    with pytest.raises(ValidationError, match=fact):
        Source.model_validate({"kinesis": {"stream": "play", **declared}})
