"""Seeded producers of made-up events, for demos, tests and benchmarks.

Here: what a run sends and when (`script`), sending (`produce`), and what is sent (`workload`), in a
module or package for each shipped feed. The product reads what it sends as it reads any topic, and
imports nothing of it.
"""
