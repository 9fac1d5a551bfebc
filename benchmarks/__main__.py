"""`python -m benchmarks`, which `make bench` runs.

It is run in the folder of a clone, where Spark's workers find this package, too.
"""

from benchmarks.command import app
from lake_assets.cli.main import run_app

if __name__ == "__main__":
    run_app(app)
