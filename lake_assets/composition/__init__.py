"""What a Dagster project of somebody else puts a lake into itself by: functions, and components.

`lake_assets` exports these lazily. What assets, jobs and sensors are is `defs`' business, and which
rooms there are `definitions`'; here arguments become settings, and names are handed out.
"""
