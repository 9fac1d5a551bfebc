import pytest
from sqlglot.errors import ErrorLevel

from lake_assets.model.queries import columns_of, reads_all
from lake_assets.model.spark_sql import statements_of


@pytest.mark.parametrize(
    "sql",
    [
        "select window.start, count(*) n from silver group by window(at, '1 hour')",
        "select game, count(*) n from silver group by game, Window (at, '1 hour', '5 minutes')",
        "select sum(a) over w n from silver window w as (partition by b)",
    ],
)
def test_a_window_is_a_function_or_a_clause(sql):
    (found,) = statements_of(sql, ErrorLevel.IMMEDIATE)
    assert found is not None
    assert reads_all(sql) is False
    assert (columns_of(sql) or ())[-1] == "n"
