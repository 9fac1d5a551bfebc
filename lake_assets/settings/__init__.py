"""What a user may set: groups of frozen fields, in `schema`.

`load` alone reads the environment. What a feed declares is no setting: that is `model.feeds`.
"""
