import json
from html import escape
from urllib.parse import quote, quote_plus

import pytest
from pydantic import SecretStr

from lake_assets.model.rest import Secret
from lake_assets.settings.secrets import Secrets

PASSWORD = 'pa"ss&w ord<\\of mine'  # noqa: S105 - made up


@pytest.mark.parametrize(
    "spelled", [str, lambda text: json.dumps(text)[1:-1], quote, quote_plus, escape]
)
def test_a_secret_is_masked_however_an_answer_spells_it(spelled):
    secrets = Secrets(lambda _: SecretStr(PASSWORD))
    secrets.value(Secret(env="PASSWORD"))
    assert secrets.masked(f"who is {spelled(PASSWORD)}?") == "who is ***?"
