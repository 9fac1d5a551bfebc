"""The Confluent schema registry and its framing, whatever language schemas are in.

What a schema means, and which columns come of it, is for the folder of its language.
"""
