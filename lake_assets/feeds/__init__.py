"""The declared lake: YAML files, and the loader that turns them into `model.feeds` nouns.

What a feed may declare is `model`'s; nothing here knows an engine.
"""
