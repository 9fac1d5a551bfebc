"""Gold: materialized views over silver, one table a game and view."""
