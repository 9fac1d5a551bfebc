"""Bronze: raw rows kept as they came."""
