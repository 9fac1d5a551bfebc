"""Gold: materialized views over silver, one table a key and view: planned, computed and committed.

Deciding (`refresh_need`, `quality_gate`) is apart from computing (`job`, `arrow_merge`). Checks of
whole tables are `checks`'; the schedule of refreshes is `defs`'.
"""
