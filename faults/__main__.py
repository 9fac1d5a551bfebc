"""`python -m faults`."""

from faults.command import app
from lake_assets.cli.main import run_app

if __name__ == "__main__":
    run_app(app)
