from benchmarks.small import batches_for


def test_many_tables_get_fewer_batches():
    assert (batches_for(100), batches_for(1000)) == (100, 30)
