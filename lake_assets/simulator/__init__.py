"""A seeded producer of game events, for demos, tests and benchmarks."""
