"""The benchmark: the pipeline beside its peers, on one topic, one machine and in one run."""
