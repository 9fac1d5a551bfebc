"""Erasing a person's rows from a lake, and proving that nothing of them is left."""
