"""A record that the broker's disk damages: its batch has another checksum then than it says."""

from pathlib import Path

from lake_assets_tests.conftest import SERVICES_HOME


def damage(config, topic, text):
    """Change a byte of a value that the broker of the run has on its disk.

    Args:
        config: pytest's.
        topic: the topic, in whose partition 0 it is.
        text: the value, which nothing compressed.
    """
    worker = getattr(config, "workerinput", None)
    home = Path(worker["services_home"]) if worker else config.stash[SERVICES_HOME]
    (segment,) = home.rglob(f"{topic}-0/*.log")
    content = segment.read_bytes()
    assert content.count(text) == 1, "it is not in the file as it is"
    with segment.open("r+b") as file:
        file.seek(content.index(text))
        file.write(bytes([text[0] ^ 1]))
