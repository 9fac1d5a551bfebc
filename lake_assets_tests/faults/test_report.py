from dataclasses import replace

from faults.reader import DOUBLED, LOST, UNNAMED, Finding
from faults.report import FaultRecord, VenueReport, as_markdown, as_record


def venue(**changes):
    fault = FaultRecord("kill -9 of the broker", "killed 1", 3.0, 5.0, 2.5)
    return VenueReport(venue="disk", dagster=True, seconds=60.0, faults=[fault], **changes)


def record(*venues):
    return as_record(venues, seed=7, minutes=1.0, began="2026-11-28", quick=False)


def test_a_report_is_good_only_if_nothing_was_found_at_all():
    assert record(venue())["is_good"]
    for changes in (
        {"findings": [Finding(UNNAMED, 1, ("x",))]},
        {"failures": ["no row came"]},
        {"orphans": ["12 of streams"]},
    ):
        assert not record(venue(), venue(**changes))["is_good"]


def test_a_venue_says_how_many_events_were_lost_and_doubled():
    findings = [Finding(LOST, 2, ("a",)), Finding(DOUBLED, 1, ("b",)), Finding(DOUBLED, 3, ("c",))]
    found = venue(findings=findings).as_record()
    assert (found["lost"], found["doubled"]) == (2, 4)


def test_the_page_has_a_row_a_venue_and_a_row_a_fault_and_names_what_was_skipped():
    unhealed = FaultRecord("full disk", "filled", 8.0, 9.0, None)
    one = venue(acked=12_345, skipped={"slow disk": "there is no loop device"})
    one.faults.append(unhealed)
    two = replace(venue(), venue="s3")
    by_venue = as_markdown(record(two, one))
    assert "| full disk |  | never |" in by_venue
    page = as_markdown(record(one))
    assert "Seed 7" in page
    assert "| disk (Dagster) | 1.0 | 2 | 12,345 |" in page
    assert "| fault | disk: rows flow after (s) |" in page
    assert "| kill -9 of the broker | 2 |" in page
    assert "| full disk | never |" in page
    assert "- slow disk (disk): there is no loop device" in page
