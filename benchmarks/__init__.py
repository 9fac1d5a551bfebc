"""The benchmark: the pipeline beside its peers, on one topic, one machine and in one run.

In it: the peers (`peers` lists them), what is measured beside them (`sections`), rounds, report and
chart, and the command line. Not in it: anything that the product needs; nothing of `lake_assets`
imports it, and the wheel leaves it out.
"""
