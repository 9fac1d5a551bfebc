"""Dockerfiles as far as they can be looked at: hadolint, and that what they name is there."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from lake_assets_tests.docker.described import DOCKER, IMAGES, known_variables

ROOT = DOCKER.parent
HADOLINT = Path(sys.executable).parent / "hadolint"
DOCKERFILES = [DOCKER / "Dockerfile", ROOT / "lake_assets/scaffold/files/Dockerfile"]


@pytest.mark.parametrize("dockerfile", DOCKERFILES, ids=["docker", "scaffold"])
def test_hadolint_warns_of_nothing(dockerfile):
    command = [HADOLINT, "--no-color", "--failure-threshold", "warning", dockerfile]
    done = subprocess.run(command, check=False, capture_output=True, text=True)  # noqa: S603
    assert done.returncode == 0, done.stdout + done.stderr


def test_what_it_copies_is_there_and_not_ignored():
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    assert ignored[1] == "*"
    for line in re.findall(r"^COPY (?!--from)(.+) \S+$", IMAGES, flags=re.MULTILINE):
        for name in line.split():
            assert (ROOT / name).exists()
            path = Path(name)
            assert any(path.match(rule[1:]) for rule in ignored if rule.startswith("!")), name


def test_what_it_sets_is_read_by_somebody():
    block = re.findall(r"^ENV ((?:.*\\\n)*.*)$", IMAGES, flags=re.MULTILINE)[-1]
    assert {*re.findall(r"(\w+)=", block)} <= known_variables()


def test_its_extras_are_some():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (asked,) = re.findall(r'"\.\[([\w,]+)\]"', IMAGES)
    assert {*asked.split(",")} <= {*extras["optional-dependencies"]}
    assert "deploy" in asked


def test_it_runs_as_nobody_special():
    assert re.findall(r"^USER (.+)$", IMAGES, flags=re.MULTILINE) == ["1000:1000"]
