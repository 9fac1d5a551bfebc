"""PostgreSQL as a client meets it: connecting, and what its errors mean.

What is written to it is `sinks.sql`'s, and what is read from it `sources.postgres`'.
"""
