"""The benchmark: the road beside its peers, on one topic, one machine and in one run."""
