import pytest

from lake_assets.bench.small import admitting, batches_for


def taken(bound, sizes):
    """Files that Delta's source takes: one more as long as the bound is not passed."""
    count = size = 0
    while size < bound and count < len(sizes):
        size += sizes[count]
        count += 1
    return count


@pytest.mark.parametrize("files_a_commit", [1, 2, 4, 8])
@pytest.mark.parametrize("spread", [0, 5])
def test_a_bound_lets_one_commit_in(files_a_commit, spread):
    sizes = [100 + spread * (index % 3 - 1) for index in range(files_a_commit * 10)]
    assert taken(admitting(sum(sizes), len(sizes), 10), sizes) == files_a_commit


def test_many_tables_get_fewer_batches():
    assert (batches_for(100), batches_for(1000)) == (100, 30)
