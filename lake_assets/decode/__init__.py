"""From framed bytes to typed columns: registry, descriptors, Arrow decoding."""
