"""A project folder of one's own, made by `lake-assets init` from what the wheel has.

`create` writes it; what its files say is in `files/`, and in the feeds and the `dagster.yaml` that
are shipped. What a project does when it runs is everything else's.
"""
