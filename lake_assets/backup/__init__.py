"""A lake's backup and its way back: versions that fit together, copied while the lake goes on.

`consistent_cut` chooses the versions, `create` copies them into a place, `place` and `manifest`
have its layout, `verify` says whether all is there, `restore` makes a lake of it again. One table's
way back to a version of its own is `table_restore`; which versions there are to go back to,
`versions_then`. What holds files back meanwhile is `maintenance`'s, told by `state.backup_hold`.
"""
