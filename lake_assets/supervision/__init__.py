"""Keeping exactly one run of the streams alive: `decide` is pure, `machine` touches processes."""
