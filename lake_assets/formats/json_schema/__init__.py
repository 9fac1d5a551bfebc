"""JSON with Confluent's framing, whose JSON Schema documents are in a registry.

In it: what of a document is a type, the columns of all versions, and the decoder. Not in it: how a
value is read into columns, which is `formats.json`'s; the registry, which is `formats.confluent`'s.
"""
