"""The demo: services, simulator, streams and gold put together, once or live beside Dagster.

Each of the parts is in a package of its own; only what a demo adds to them is here.
"""
