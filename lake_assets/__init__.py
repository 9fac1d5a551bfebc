"""lake_assets: a lakehouse that one command starts. Import the module that has the thing.

docs/architecture.md lists the packages and says where to change what. Nothing is exported here.
"""
