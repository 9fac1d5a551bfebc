import asyncio
import json
import re
import sys
import time
from pathlib import Path

import psutil
import pyarrow as pa
import pytest
from pydantic import SecretStr

from lake_assets.errors import SinkError
from lake_assets.model.python_sink import PythonSink
from lake_assets.sinks.base import IDENTITY, Call
from lake_assets.sinks.python.target import PythonTarget, ensure_makeable

CLASS = """
import json, os, pathlib, sys, time
from lake_assets.sinks.python.protocol import Refused, Retry, Unusable

class Own:
    def __init__(self, folder, token="", fails_at_start=""):
        if fails_at_start:
            raise ValueError(fails_at_start)
        self.folder, self.token = pathlib.Path(folder), token
        (self.folder / f"pid-{os.getpid()}").touch()

    def deliver(self, rows, key):
        print("what a class prints is no answer")
        for number, row in enumerate(rows):
            act = row["act"]
            flag = self.folder / act
            is_first = not flag.exists()
            flag.touch()
            if act == "refuse":
                raise Refused("no such player " + self.token, rows=[number])
            if act == "refuse-all":
                raise Refused("closed")
            if act == "refuse-wrong":
                raise Refused("closed", rows=[99])
            if act == "unusable":
                raise Unusable("the token has ended: " + self.token)
            if act == "always":
                raise KeyError("name")
            if not is_first:
                continue
            if act == "fork" and os.fork() == 0:
                time.sleep(0.5)
                return
            if act == "reads-input":
                assert sys.stdin.read() == ""
            if act == "long-wait":
                raise Retry("later", after_s=float("inf"))
            if act == "no-text":
                raise Refused("\\udcff is no text")
            if act == "retry":
                raise Retry("busy", after_s=0.01)
            if act == "raise":
                raise ConnectionError("away")
            if act == "hang":
                time.sleep(600)
            if act == "exit":
                os._exit(3)
            if act == "sys-exit":
                sys.exit(4)
            if act == "memory":
                row["x"] = bytearray(2**40)
        with open(self.folder / "got", "a") as got:
            got.write(json.dumps([key, [row["act"] for row in rows]]) + "\\n")

    def close(self):
        (self.folder / "closed").touch()

class Asynchronous(Own):
    async def deliver(self, rows, key):
        super().deliver(rows, key)

class Generator(Own):
    def deliver(self, rows, key):
        yield super().deliver(rows, key)

class Nothing:
    pass

def slow():
    time.sleep(600)
"""


def _look_up(name):
    return SecretStr(f"very-secret-{name}")


@pytest.fixture
def declared(tmp_path, monkeypatch):
    """What declares a sink by a class, whose module is beside the feed."""
    module = f"own_{tmp_path.name}"
    (tmp_path / f"{module}.py").write_text(CLASS)
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])

    def declare(name="Own", **more):
        options = more.pop("options", {"folder": str(tmp_path)})
        own = {"class": f"{module}:{name}", "options": options, "timeout": "20s", **more}
        return PythonSink.model_validate(own)

    return declare


def _call(target, acts, number=1):
    place = {"table": "silver/x", "feed": "f", "source": "t", "partition": 0, "ordinal": 0}
    rows = [{**place, "offset": one, "source_time": 0} for one in range(len(acts))]
    return Call(
        number=number,
        key=f"key-{number}",
        rows=pa.Table.from_pylist(rows, schema=IDENTITY),
        body=target.body_of(target.rows_of({"act": pa.array(acts)})),
    )


def _deliver(sink, *calls):
    async def run():
        async with PythonTarget(sink, _look_up) as target:
            made = [_call(target, acts, number) for number, acts in enumerate(calls, 1)]
            found = await asyncio.gather(*map(target.deliver, made))
            return [outcome for outcomes in found for outcome in outcomes]

    return asyncio.run(run())


def _got(folder):
    return [json.loads(line) for line in (folder / "got").read_text().splitlines()]


def _processes(folder):
    return [int(path.name.removeprefix("pid-")) for path in folder.glob("pid-*")]


def test_rows_arrive_with_their_key_and_the_class_is_closed(declared, tmp_path):
    (outcome,) = _deliver(declared(), ["a", "ä"])
    assert (outcome.is_delivered, outcome.tries) == (True, 1)
    assert _got(tmp_path) == [["key-1", ["a", "ä"]]]
    assert (tmp_path / "closed").exists()
    assert not any(psutil.pid_exists(pid) for pid in _processes(tmp_path))


@pytest.mark.parametrize("act", ["retry", "raise", "exit", "sys-exit", "memory"])
def test_what_fails_once_is_tried_again(declared, tmp_path, act):
    (outcome,) = _deliver(declared(), [act])
    assert (outcome.is_delivered, outcome.tries) == (True, 2)
    assert _got(tmp_path) == [["key-1", [act]]]


def test_what_hangs_is_killed_and_tried_again(declared, tmp_path):
    (outcome,) = _deliver(declared(timeout="3s"), ["hang"])
    assert (outcome.is_delivered, outcome.tries) == (True, 2)
    assert len(_processes(tmp_path)) == 2


def test_rows_that_are_refused_are_dead_letters_and_the_others_are_not(declared):
    secret = {"token": {"env": "TOKEN"}}
    arrived, refused = _deliver(declared(secrets=secret), ["a", "refuse", "b"])
    assert (arrived.is_delivered, arrived.call.rows["offset"].to_pylist()) == (True, [0, 2])
    assert (refused.is_delivered, refused.call.rows["offset"].to_pylist()) == (False, [1])
    assert refused.reason == "is refused: no such player ***"
    assert refused.request.endswith('[{"act": "refuse"}]')
    (all_of_them,) = _deliver(declared(), ["a", "refuse-all"])
    assert (all_of_them.is_delivered, all_of_them.call.rows.num_rows) == (False, 2)


@pytest.mark.parametrize(
    ("act", "told"),
    [
        ("always", r"KeyError: 'name' \(.*own_.*\.py, line \d+\) after \d+ tries"),
        ("refuse-wrong", "Refused names row 99, and the call has 1"),
    ],
)
def test_what_fails_always_is_a_dead_letter(declared, act, told):
    (outcome,) = _deliver(declared(give_up_after="1s"), [act])
    assert not outcome.is_delivered
    assert re.search(told, outcome.reason)


def test_a_class_that_says_that_nothing_goes_stops_the_sink(declared):
    with pytest.raises(SinkError, match=r"the token has ended: \*\*\*"):
        _deliver(declared(secrets={"token": {"env": "TOKEN"}}), ["unusable"])


@pytest.mark.parametrize(
    ("name", "more", "told"),
    [
        ("Missing", {}, "is not in module"),
        ("Nothing", {"options": {}}, "has no method `deliver`"),
        ("Own", {"options": {"colour": 1}}, "unexpected keyword argument 'colour'"),
        ("Own", {"options": {"folder": ".", "fails_at_start": "no"}}, "ValueError: no"),
        ("slow", {"options": {}, "timeout": "2s"}, "no answer within 2 s"),
    ],
)
def test_a_class_that_cannot_be_made_stops_the_sink(declared, name, more, told):
    with pytest.raises(SinkError, match=told):
        ensure_makeable(declared(name, **more), _look_up)


@pytest.mark.parametrize("name", ["Asynchronous", "Generator"])
def test_a_class_that_returns_before_it_delivers_stops_the_sink(declared, name):
    with pytest.raises(SinkError, match="it returned before it delivered"):
        _deliver(declared(name), ["a"])


def test_a_class_that_forks_gives_no_answer_to_another_call(declared):
    async def run():
        async with PythonTarget(declared(give_up_after="1s"), _look_up) as target:
            await target.deliver(_call(target, ["fork"]))
            await asyncio.sleep(1)
            return await target.deliver(_call(target, ["always"], 2))

    (outcome,) = asyncio.run(run())
    assert not outcome.is_delivered


def test_what_a_class_starts_has_no_input(declared):
    (outcome,) = _deliver(declared(timeout="5s"), ["reads-input"])
    assert (outcome.is_delivered, outcome.tries) == (True, 1)


def test_a_class_cannot_ask_for_longer_than_a_call_is_tried(declared):
    (outcome,) = _deliver(declared(give_up_after="1s"), ["long-wait"])
    assert (outcome.is_delivered, outcome.tries) == (True, 2)


def test_a_reason_that_is_no_text_is_one_in_the_dead_letter(declared):
    (outcome,) = _deliver(declared(), ["no-text"])
    assert outcome.reason.encode() == b"is refused: ? is no text"


def test_several_processes_make_calls_at_the_same_time(declared, tmp_path):
    outcomes = _deliver(declared(processes=2), *[[f"a{n}"] for n in range(2)])
    assert all(outcome.is_delivered for outcome in outcomes)
    assert len(_processes(tmp_path)) == 2


def test_a_call_that_is_cancelled_ends_its_process(declared, tmp_path):
    async def run():
        async with PythonTarget(declared(timeout="60s"), _look_up) as target:
            under_way = asyncio.create_task(target.deliver(_call(target, ["hang"])))
            await asyncio.to_thread(_wait_for, (tmp_path / "hang").exists)
            under_way.cancel()
            await asyncio.gather(under_way, return_exceptions=True)

    asyncio.run(run())
    (pid,) = _processes(tmp_path)
    assert not psutil.pid_exists(pid)


def test_a_process_ends_with_who_started_it(declared, tmp_path):
    sink = declared(timeout="60s")
    script = tmp_path / "parent.py"
    script.write_text(
        "import asyncio, sys\n"
        "sys.path += [sys.argv[2], sys.argv[3]]\n"
        "from lake_assets.model.python_sink import PythonSink\n"
        "from lake_assets.sinks.python.process import Process\n"
        "async def run():\n"
        "    process = await Process.start(PythonSink.model_validate_json(sys.argv[1]), {})\n"
        '    await process.ask(b\'{"key":"k","rows":[{"act":"hang"}]}\')\n'
        "asyncio.run(run())\n"
    )
    root = str(Path(__file__).parents[3])
    told = sink.model_dump_json(by_alias=True, exclude={"secrets"})
    parent = psutil.Popen([sys.executable, str(script), told, str(tmp_path), root])
    try:
        _wait_for((tmp_path / "hang").exists)
    finally:
        parent.kill()
        parent.wait()
    (pid,) = _processes(tmp_path)
    _wait_for(lambda: not psutil.pid_exists(pid))


def _wait_for(holds):
    until = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.05)
