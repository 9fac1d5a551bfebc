from lake_assets.bench.peers import MEASURES, PEERS, USUAL, peers_of


def test_every_measure_is_one_peers():
    assert len(set(MEASURES)) == len(MEASURES)


def test_only_the_peers_of_the_asked_for_measures_run():
    floor, ours, *_ = PEERS
    assert peers_of(["floor"]) == [floor]
    assert peers_of(["demux"]) == [ours]
    assert peers_of(USUAL) == [floor, ours]
    assert peers_of(MEASURES) == list(PEERS)
