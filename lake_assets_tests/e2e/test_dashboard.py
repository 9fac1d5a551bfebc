"""Each query of the dashboard and of the alert rules, on what real streams serve.

Which series a query gives is told by `lake_assets_tests.promql`; numbers are Prometheus's.
"""

import json
import re
from pathlib import Path

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from lake_assets_tests.events import Topic
from lake_assets_tests.programs import run_program
from lake_assets_tests.promql import series_of

DOCKER = Path(__file__).parents[2] / "docker"
DASHBOARD = json.loads((DOCKER / "grafana/dashboard.json").read_text())
RULES = yaml.safe_load((DOCKER / "prometheus/rules.yml").read_text())["groups"][0]["rules"]
SCRAPING = yaml.safe_load((DOCKER / "prometheus/prometheus.yml").read_text())["scrape_configs"]

# Streams that ingest, demux and refresh a live view; what they serve then.
_STREAMS = """
import sys
import httpx
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.feeds import Feed
from lake_assets.model.gold_views import GoldView
from lake_assets.model.reports import GoldRefreshed
from lake_assets.settings.schema import Settings
from lake_assets.sources.files.index_writer import FileIndex
from lake_assets.state.files import read_heartbeat
from lake_assets.storage.open_store import lake_of
from lake_assets.streams.run import stream_events
from lake_assets_tests.events import Topic, framed

settings = Settings.model_validate_json(sys.argv[1])
topic = Topic(Endpoints(kafka=sys.argv[2], registry=sys.argv[3]), sys.argv[4])
view = GoldView(name="player_agg", keys=("gamer_id",), measures={"n": "count(*)"}, refresh="live")
known = topic.register(0)
topic.produce(framed(known), b"no event", framed(known, gamer=""))
files = {"feed": "beats", "source": {"files": {"path": str(settings.home), "format": "jsonl"}},
         "payload": {"json": {"schema": "bpm int"}}}
FileIndex(lake_of(settings), "beats").close()
feeds = [topic.feed(gold=(view,)), Feed.model_validate(files)]
events = stream_events(settings, feeds, topic.endpoints, owner="a test")
for event in events:
    if isinstance(event, GoldRefreshed):
        metrics = read_heartbeat(settings.state_dir).metrics
        print(httpx.get(f"{metrics}/metrics", timeout=30).text)
        break
events.close()
"""


@pytest.fixture(scope="module")
def scrape(services, tmp_path_factory):
    home = tmp_path_factory.mktemp("home")
    arguments = (json.dumps({"home": str(home)}), services.kafka, services.registry)
    text = run_program(_STREAMS, [*arguments, Topic(services).name])
    target = {"job": SCRAPING[0]["job_name"], "instance": "lake:9464"}
    told = [
        {"__name__": sample.name, **sample.labels, **target}
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    ]
    return [*told, {"__name__": "up", **target}]


def queries():
    """Each of the dashboard's, as Grafana sends it where all feeds are chosen."""
    found = [
        (panel["title"], target["expr"])
        for panel in DASHBOARD["panels"]
        for target in panel.get("targets", ())
    ]
    found += [
        (note["name"], note["expr"]) for note in DASHBOARD["annotations"]["list"] if "expr" in note
    ]
    return [
        (title, expr.replace("$feed", ".*").replace("$__rate_interval", "1m"))
        for title, expr in found
    ]


@pytest.mark.spark
@pytest.mark.kafka
def test_every_query_of_the_dashboard_has_something_to_show(scrape):
    shown = {query: series_of(query, scrape) for _, query in queries()}
    assert len(shown) > 25
    assert [query for query, series in shown.items() if not series] == []


@pytest.mark.spark
@pytest.mark.kafka
def test_every_name_that_a_legend_shows_is_a_label_of_its_series(scrape):
    missing = [
        (panel["title"], label)
        for panel in DASHBOARD["panels"]
        for target in panel.get("targets", ())
        for label in re.findall(r"{{(\w+)}}", target["legendFormat"])
        for query in [target["expr"].replace("$feed", ".*").replace("$__rate_interval", "1m")]
        if any(label not in labels for labels in series_of(query, scrape))
    ]
    assert missing == []


@pytest.mark.spark
@pytest.mark.kafka
def test_every_alert_is_about_series_that_there_are(scrape):
    assert [rule["alert"] for rule in RULES if not series_of(rule["expr"], scrape)] == []


@pytest.mark.spark
@pytest.mark.kafka
def test_every_label_that_an_alert_names_is_one_of_its_series(scrape):
    missing = [
        (rule["alert"], label)
        for rule in RULES
        for label in re.findall(r"\$labels\.(\w+)", rule["annotations"]["summary"])
        if any(label not in labels for labels in series_of(rule["expr"], scrape))
    ]
    assert missing == []


@pytest.mark.spark
@pytest.mark.kafka
def test_the_choice_of_feeds_is_a_label_of_the_metric_that_it_names(scrape):
    (chosen,) = DASHBOARD["templating"]["list"]
    metric, label = re.fullmatch(r"label_values\((\w+), (\w+)\)", chosen["definition"]).groups()
    assert {labels[label] for labels in series_of(metric, scrape)} == {"beats", "games"}


@pytest.mark.spark
@pytest.mark.kafka
def test_every_metric_is_in_the_table_of_the_documentation(scrape):
    text = (DOCKER.parent / "docs/operations.md").read_text()
    told = {re.sub(r"_(bucket|count|sum)$", "", s["__name__"]) for s in scrape} - {"up"}
    assert [name for name in sorted(told) if f"`{name}`" not in text] == []


def test_panels_have_names_and_places_of_their_own():
    panels = DASHBOARD["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    cells = [
        (x, y)
        for place in (panel["gridPos"] for panel in panels)
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    assert len(set(cells)) == len(cells)
    assert max(x for x, _ in cells) < 24


def test_grafana_and_prometheus_are_told_of_each_other_and_of_the_streams():
    compose = yaml.safe_load((DOCKER / "compose.yaml").read_text())["services"]
    sources = yaml.safe_load((DOCKER / "grafana/datasources.yml").read_text())["datasources"]
    asked = {panel["datasource"]["uid"] for panel in DASHBOARD["panels"] if "datasource" in panel}
    assert asked == {sources[0]["uid"]}
    assert sources[0]["url"] == "http://prometheus:9090"
    (target,) = SCRAPING[0]["static_configs"][0]["targets"]
    host, port = target.split(":")
    assert compose[host]["environment"]["LAKE_ASSETS_METRICS_PORT"] == port
    assert compose[host]["environment"]["LAKE_ASSETS_METRICS_HOST"] == "0.0.0.0"  # noqa: S104
    for service in ("prometheus", "grafana"):
        for volume in compose[service]["volumes"]:
            place = volume.split(":")[0]
            assert not place.startswith("./") or (DOCKER / place).exists()


ONE = [
    {"__name__": "rows_total", "feed": "games", "stage": "demux"},
    {"__name__": "rows_total", "feed": "games", "stage": "ingest"},
    {"__name__": "seconds_bucket", "feed": "games", "le": "1"},
]


@pytest.mark.parametrize(
    "query",
    [
        "no_such_metric",
        'rows_total{stage="no such"}',
        'sum(rate(rows_total{feed="x"}[1m]))',
        "rows_total / on (feed, stage) seconds_bucket",
        "sum by (stage) (rows_total) and sum by (feed) (rows_total)",
    ],
)
def test_a_query_of_what_is_not_there_shows_nothing(query):
    assert not series_of(query, ONE)


@pytest.mark.parametrize(
    "query",
    [
        'rows_total{no_such_label="x"}',
        "sum by (no_such_label) (rows_total)",
        "histogram_quantile(0.9, sum by (feed) (rate(seconds_bucket[1m])))",
    ],
)
def test_a_query_of_a_label_that_is_not_there_is_told(query):
    with pytest.raises(AssertionError):
        series_of(query, ONE)


def test_a_query_that_is_none_is_told():
    with pytest.raises(ValueError, match="parenthesis"):
        series_of("sum by (", ONE)


def test_sides_that_match_give_the_series_of_the_left_one():
    query = "sum by (feed, stage) (rows_total) / on (feed) group_left () sum by (feed) (rows_total)"
    assert len(series_of(query, ONE)) == 2
