from dataclasses import replace

from benchmarks.peers import FEW_TABLES, MEASURES, PEERS, USUAL, peers_of, who_runs


def test_every_measure_is_one_peers():
    assert len(set(MEASURES)) == len(MEASURES)


def test_every_peer_has_a_name_of_its_own():
    assert len({peer.name for peer in PEERS}) == len(PEERS)


def test_only_the_peers_of_the_asked_for_measures_run():
    floor, ours, stages, *_ = PEERS
    assert peers_of(["floor"]) == [floor]
    assert peers_of(["ingest+demux"]) == [ours]
    assert peers_of(["demux"]) == [stages]
    assert peers_of(USUAL) == list(PEERS[:6])
    assert peers_of(MEASURES) == list(PEERS)


def test_only_the_floor_and_ours_fill_a_thousand_tables():
    running, notes = who_runs(USUAL, FEW_TABLES + 1)
    assert [peer.name for peer in running] == ["floor", "ours", "ingest"]
    assert notes == [
        f"{name} is not run with more than 100 tables"
        for name in ("n-queries", "foreach-batch", "declarative-pipelines")
    ]


def test_all_fill_a_hundred():
    running, notes = who_runs(USUAL, FEW_TABLES)
    assert (len(running), notes) == (6, [])


def test_a_peer_that_lacks_a_package_is_left_out_and_named():
    lame = replace(PEERS[0], missing=lambda: ["zstandard"])
    running, notes = who_runs(["floor"], 1, [lame])
    assert running == []
    (note,) = notes
    assert note.startswith("floor did not run: zstandard is not installed (make setup installs it")
