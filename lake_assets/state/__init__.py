"""What a lake's writers keep outside its tables: locks, heartbeat, lake id, what fails at present.

Also what any file of a lake asks for: durability, and telling the disk's trouble from others'.
Delta tables and the journals of commits are `delta`'s.
"""
