"""A page of docs/runbooks, done line by line as somebody would who follows it.

What the page shows is run: each line of its `sh` blocks, `lake-assets` in this process and all else
by bash; each `yaml` block that names its file is written there. What only the test does stands in
comments of the page, `<!-- test: send uno ann 5 -->`, where a reader would wait for events to come.
What these do is `runbook_steps`' to say.
"""

import os
import re
import shlex
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from lake_assets.settings.load import child_environment, load_settings
from lake_assets.settings.schema import Settings
from lake_assets_tests.commandline import COMMAND, lake_assets_here, sparkless_here
from lake_assets_tests.events import Topic

PAGES = Path(__file__).parents[2] / "docs" / "runbooks"

_PART = re.compile(r"^```(\w+)\n(.*?)^```|<!-- test: (.*?) -->", re.MULTILINE | re.DOTALL)

_NEEDS_SPARK = {"stream", "refresh", "rebuild", "requeue", "backfill", "deliver", "erase"}


@dataclass(frozen=True, slots=True)
class Part:
    """Something of a page that is done."""

    kind: str
    """A block's language, or `test`."""

    text: str


def parts_of(page: str) -> Iterator[Part]:
    """Blocks and comments of a page, in their order."""
    for found in _PART.finditer(page):
        kind, text, test = found.groups()
        yield Part("test", test) if test else Part(kind, text)


def commands_of(block: str) -> list[str]:
    """The lines of a shell block, without what explains them; one goes on after a backslash."""
    joined = block.replace("\\\n", " ")
    lines = [re.split(r"\s{2,}#", line)[0].strip() for line in joined.splitlines()]
    return [line for line in lines if line and not line.startswith("#")]


@dataclass(kw_only=True)
class Reader:
    """Somebody who follows a page, with a lake of their own."""

    settings: Settings
    folder: Path
    """In place of the page's `/data`, and the folder that its commands are typed in."""

    here: Mapping[str, str]
    """What is called otherwise than in the page, such as its topic."""

    steps: Mapping[str, Callable[..., None]]
    topic: Topic
    fixture: Callable[[str], Any]
    """Gives a fixture by its name, such as the broker that asks for passwords."""

    page: str = ""
    """What is followed, with this reader's names in it."""

    exports: dict[str, str] = field(default_factory=dict)
    said: str = ""
    """By the last block's commands."""

    is_refused: bool = False
    """Whether the next command is to fail, as the page says."""

    done: list[str] = field(default_factory=list)
    """The commands that were run."""

    def follow(self, page: str) -> None:
        """Do all of it; the first thing that does not go as the page says fails."""
        self.page = self.in_place(page)
        for part in parts_of(self.page):
            text = part.text
            if part.kind == "sh":
                self.said = "".join(self.run(line) for line in commands_of(text))
            elif part.kind == "yaml" and (named := re.match(r"# (feeds/[\w.]+)\n", text)):
                (self.folder / named[1]).write_text(text)
            elif part.kind == "text":
                self._compare(text)
            elif part.kind == "python":
                exec(text, {})  # noqa: S102 - the page's own program
            elif part.kind == "test":
                name, *arguments = shlex.split(text)
                self.steps[name](self, *arguments)

    def run(self, line: str) -> str:
        """A command; what it says.

        Lines that set variables hold for those that follow, as in a shell.
        """
        self.done.append(line)
        words = shlex.split(line)
        if words[0] == "export":
            pairs = (word.split("=", 1) for word in words[1:])
            self.exports |= {name: os.path.expandvars(value) for name, value in pairs}
            return ""
        if words[0] == "unset":
            for name in words[1:]:
                del self.exports[name]
            return ""
        if words[0] == "lake-assets" and not re.search("[|<>;$]", line):
            return self._ours(line, words[1:])
        shown = line.replace("lake-assets", shlex.join(COMMAND))
        return self._shell(line, shown)

    def now(self) -> Settings:
        """The settings by the variables that the page has set."""
        with pytest.MonkeyPatch.context() as patch:
            for name, value in self._environment().items():
                patch.setenv(name, value)
            return load_settings()

    def _environment(self) -> dict[str, str]:
        """Variables of the reader's shell: one that is in a file is not set itself, too."""
        in_files = {name.removesuffix("_FILE") for name in self.exports if name.endswith("_FILE")}
        usual = child_environment(self.settings)
        return {name: value for name, value in usual.items() if name not in in_files} | self.exports

    def _ours(self, line: str, words: list[str]) -> str:
        act = lake_assets_here if words[0] in _NEEDS_SPARK else sparkless_here
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(self.folder)
            for name, value in self.exports.items():
                # Settings of files: `now` has read them.
                if not re.fullmatch("LAKE_ASSETS_.*_FILE", name):
                    patch.setenv(name, value)
            done = act(self.now(), *words)
        return self._told(line, done)

    def _shell(self, line: str, shown: str) -> str:
        done = subprocess.run(  # noqa: S603 - the page's own line
            ["bash", "-ec", shown],  # noqa: S607 - bash, wherever it is
            cwd=self.folder,
            env=self._environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        return self._told(line, done)

    def _told(self, line: str, done: "subprocess.CompletedProcess[str]") -> str:
        said = done.stdout + done.stderr
        assert (done.returncode != 0) == self.is_refused, f"{line}\n{said}"
        self.is_refused = False
        return said

    def in_place(self, text: str) -> str:
        """A page's text with the names that are this reader's."""
        for name, value in self.here.items():
            text = text.replace(name, value)
        return text

    def _compare(self, text: str) -> None:
        """Each line of what the page shows is in what was said; `…` stands for anything."""
        said = " ".join(self.said.split())
        for line in text.splitlines():
            pattern = ".*?".join(re.escape(" ".join(part.split())) for part in line.split("…"))
            assert re.search(pattern, said), f"{line!r} is not in\n{self.said}"
