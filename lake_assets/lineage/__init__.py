"""OpenLineage: what streams and refreshes read and write, told to whoever keeps lineage.

Off unless OpenLineage's own variables say where events go. `emitter` sends, in a thread of its own;
`refreshes` and `stream_runs` take in what happens, and `events` puts it into OpenLineage's words.
What Dagster shows of lineage is `defs`', what catalogues are told `catalog`'s.
"""
