from lake_assets.settings.load import variables
from lake_assets_tests.commandline import answer_of, result_of, sparkless_here


def shown(settings, *arguments):
    done = sparkless_here(settings, "config", "show", "--json", *arguments)
    return done, {one["variable"]: (one["value"], one["origin"]) for one in result_of(done)}


def test_every_setting_has_its_value_and_where_it_comes_from(settings, monkeypatch, tmp_path):
    secret = tmp_path / "key"
    secret.write_text("hush-hush-hush-hush")
    stream = settings.stream.model_copy(update={"trigger_s": 5.0})
    mine = settings.model_copy(update={"stream": stream})
    monkeypatch.setenv("LAKE_ASSETS_MASKING_KEY_FILE", str(secret))
    monkeypatch.setenv("LAKE_ASSETS_KAFKA_OPTIONS", '{"sasl.password": "hush"}')
    done, found = shown(mine, "--feeds", str(tmp_path))
    assert done.returncode == 0
    assert found["LAKE_ASSETS_STREAM_TRIGGER_S"] == (5.0, "LAKE_ASSETS_STREAM_TRIGGER_S")
    assert found["LAKE_ASSETS_STREAM_STALL_AFTER_S"] == (180.0, "default")
    assert found["LAKE_ASSETS_FEEDS"] == (str(tmp_path), "--feeds")
    assert found["LAKE_ASSETS_LAKE"] == (str(settings.home / "lake"), "default")
    assert found["LAKE_ASSETS_MASKING_KEY"] == ("***", "LAKE_ASSETS_MASKING_KEY_FILE")
    assert found["LAKE_ASSETS_KAFKA_OPTIONS"][0] == {"sasl.password": "***"}
    assert "hush" not in done.stdout + sparkless_here(mine, "config", "show").stdout
    assert set(found) == set(variables())


def test_a_variable_that_is_mistyped_is_an_error_here_and_a_warning_elsewhere(
    settings, monkeypatch
):
    monkeypatch.setenv("LAKE_ASSETS_STREAM_TRIGER_S", "5")
    done = sparkless_here(settings, "config", "show", "--json")
    assert done.returncode == 1
    (problem,) = answer_of(done)["problems"]
    assert problem["what"] == "LAKE_ASSETS_STREAM_TRIGER_S"
    assert problem["next_step"] == "Did you mean LAKE_ASSETS_STREAM_TRIGGER_S?"
    other = sparkless_here(settings, "schemas")
    assert other.returncode == 0
    assert other.stderr.startswith("warning: LAKE_ASSETS_STREAM_TRIGER_S: is no setting of this")
    assert len(other.stderr.splitlines()) == 1


def test_a_bucket_is_shown_as_it_is_written(settings):
    mine = settings.model_copy(update={"lake": "s3://bucket/lake"})
    assert shown(mine)[1]["LAKE_ASSETS_LAKE"] == ("s3://bucket/lake", "LAKE_ASSETS_LAKE")


def test_a_login_in_the_address_of_a_registry_comes_from_there(settings, monkeypatch):
    monkeypatch.setenv("LAKE_ASSETS_REGISTRY_URL", "http://ann:hush@host:8081")
    done, found = shown(settings)
    origin = "LAKE_ASSETS_REGISTRY_URL"
    assert found[origin] == ("http://host:8081", origin)
    assert found["LAKE_ASSETS_REGISTRY_USER"] == ("ann", origin)
    assert found["LAKE_ASSETS_REGISTRY_PASSWORD"] == ("***", origin)
    assert found["LAKE_ASSETS_REGISTRY_TOKEN"] == (None, "default")
    assert "hush" not in done.stdout + done.stderr


def test_a_login_among_brokers_is_refused_and_not_shown(settings, monkeypatch):
    monkeypatch.setenv("LAKE_ASSETS_KAFKA_BOOTSTRAP_SERVERS", "ann:hush@host:9092")
    done = sparkless_here(settings, "config", "show", "--json")
    assert done.returncode == 1
    (problem,) = answer_of(done)["problems"]
    assert problem["fact"] == "has an @, and is shown"
    assert problem["next_step"] == "Give a login in LAKE_ASSETS_KAFKA_OPTIONS"
    assert "hush" not in done.stdout + done.stderr
