"""A table of PostgreSQL as a source: rows that come and change, by a column that grows.

What was read is landed first, in a Delta table beside bronze, in a commit with how far the reading
is; bronze is filled from there. Why, and what becomes of transactions that commit late:
`docs/decisions/0088-late-commits-are-found-by-snapshots.md`.
"""
