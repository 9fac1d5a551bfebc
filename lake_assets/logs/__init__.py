"""The lake's own log as Delta tables: what each batch and refresh did, for whoever asks in SQL.

Delta's own transaction logs are `delta`'s, and messages for people are not kept here.
"""
