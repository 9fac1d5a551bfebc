"""Silver: decoded rows, routed to one append-only table a game, or to quarantine with a reason."""
