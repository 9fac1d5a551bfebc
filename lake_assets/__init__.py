"""lake_assets: a lakehouse that one command starts. Import the module that has the thing."""
