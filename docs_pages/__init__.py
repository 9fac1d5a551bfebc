"""Pages of the documentation's site that are made when it is built, and never committed.

In it: references of feeds, settings and commands, taken from the models, the schema and the command
line, and the hook by which MkDocs asks for them. Not in it: pages that somebody wrote; those are in
`docs/`. Nothing of `lake_assets` imports it, and the wheel leaves it out.
"""
