"""What a lake's writers keep outside its tables: locks, heartbeat, lake id, what fails at present.

It lies on a local or mounted disk, wherever the tables lie, and belongs to one lake (`lake_id`).
Also telling the disk's trouble from others'. Delta tables and the journals of commits are
`delta`'s; files of tables and logs are read and written through `storage`.
"""
