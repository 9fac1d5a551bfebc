"""The demo: services, simulator, streams and gold put together, once or live beside Dagster."""
