import httpx
import pytest

from benchmarks.beside import beside
from lake_assets.errors import StreamError


def test_a_program_listens_until_the_block_ends(tmp_path):
    with beside("benchmarks.rest_server", tmp_path, 0.0) as port:
        url = f"http://127.0.0.1:{port}/"
        assert httpx.post(url, content=b"rows", trust_env=False, timeout=30).json() == {}
    with pytest.raises(httpx.ConnectError):
        httpx.get(url, trust_env=False, timeout=30)


def test_one_that_ends_at_once_is_told(tmp_path):
    with pytest.raises(StreamError, match="does not start"), beside("benchmarks.none", tmp_path):
        pass


def test_a_server_far_away_answers_what_it_answers_nearby(tmp_path):
    with (
        beside("benchmarks.rest_server", tmp_path, 0.0) as near,
        beside("benchmarks.far_away", tmp_path, near, 0.01) as far,
    ):
        for method in ("PUT", "POST", "PUT"):
            answer = httpx.request(
                method, f"http://127.0.0.1:{far}/", content=b"x", trust_env=False, timeout=30
            )
            assert answer.json() == {}
