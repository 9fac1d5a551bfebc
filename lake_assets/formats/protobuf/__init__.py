"""Confluent-framed protobuf: descriptors, plans of decoding, and Arrow columns.

Whoever is asked for the schemas is in `formats.confluent`.
"""
