"""Kafka topics that rows are produced to: messages, delivery reports, what a topic promises.

Which rows are sent, and what is recorded of them, is not known here.
"""
