"""Confluent-framed Avro: schemas and how they evolve, plans of decoding, and Arrow columns.

Whoever is asked for the schemas is in `formats.confluent`.
"""
