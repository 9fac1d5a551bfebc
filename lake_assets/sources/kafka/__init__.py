"""Kafka as a source: its topics as a stream, short questions to a broker, and why it refuses.

Nothing outside of it reads a topic; `simulator` writes to some, and `services` starts brokers.
"""
