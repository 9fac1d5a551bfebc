"""The embedded Kafka broker and schema registry: real servers as child processes.

Clients of them are elsewhere (`sources`, `decode`), and a user's own servers are left alone.
"""
