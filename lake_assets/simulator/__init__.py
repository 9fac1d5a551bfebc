"""A seeded producer of game events, for demos, tests and benchmarks.

The product reads what it sends as it reads any topic, and imports nothing of it.
"""
