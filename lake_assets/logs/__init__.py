"""The lake's own log as Delta tables: what each batch and refresh did, for whoever asks in SQL."""
