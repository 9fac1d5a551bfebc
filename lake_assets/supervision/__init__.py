"""Keeping exactly one run of the streams alive: `decide` is pure, `act` touches processes."""
