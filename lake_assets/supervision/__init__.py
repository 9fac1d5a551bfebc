"""Keeping exactly one run of the streams alive: `decide` is pure, `machine` touches processes.

How a run is started is for whoever calls; nothing here knows Dagster.
"""
