"""The declared lake: YAML files, and the loader that turns them into `model.feeds` nouns."""
