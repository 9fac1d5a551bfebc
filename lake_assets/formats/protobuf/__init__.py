"""Confluent-framed protobuf: descriptors, plans of decoding, and Arrow columns."""
