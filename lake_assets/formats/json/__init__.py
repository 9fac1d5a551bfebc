"""JSON objects with a declared schema."""
