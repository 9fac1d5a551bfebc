"""Made-up events of many games: protobuf, whose schema versions are registered as they come up."""
