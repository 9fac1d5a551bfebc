"""Silver: decoded rows, routed to one append-only table a key, or to quarantine with a reason."""
