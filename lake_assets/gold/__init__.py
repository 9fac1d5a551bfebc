"""Gold: materialized views over silver, one table a key and view."""
