"""Read-only SQL over the tables of a lake, run in this process by DuckDB.

`statement` says what a query may have, `names` which tables it means, `table_rows` how their files
are read, `engine` runs it with nothing else in reach, `results` writes what comes out. Views that
are kept up to date are `gold`'s, and Spark's SQL.
"""
