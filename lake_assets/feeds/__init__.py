"""The declared lake: files of YAML or Python, and the loader that makes `model.feeds` nouns.

What a feed may declare is `model`'s; nothing here knows an engine.
"""
