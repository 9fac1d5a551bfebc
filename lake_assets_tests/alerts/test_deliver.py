import threading
import time

import pytest

from lake_assets.alerts.deliver import deliver
from lake_assets.alerts.outbox import Book
from lake_assets.errors import AlertError
from lake_assets.model.alerts import Alert
from lake_assets_tests.alerts.problems import alert

A, B, C = alert("a"), alert("b"), alert("c")


class Fake:
    """Keeps what it takes; down or slow when told so."""

    def __init__(self, name: str, *, is_down: bool = False, takes_s: float = 0.0) -> None:
        self.name = name
        self.got: list[Alert] = []
        self.is_down = is_down
        self.takes_s = takes_s
        self.woken = threading.Event()

    def send(self, told: Alert) -> None:
        self.woken.wait(self.takes_s)
        if self.is_down:
            raise AlertError(self.name, "is down", "Wait")
        self.got.append(told)

    def close(self) -> None:
        self.woken.set()


def posted(*sinks: Fake) -> Book:
    return Book().post([A, B, C], [sink.name for sink in sinks])[0]


def nowhere(_book: Book) -> None:
    """Keeps nothing."""


def test_alerts_are_delivered_in_order_and_then_gone():
    one, two = Fake("one"), Fake("two")
    book, complaints = deliver(posted(one, two), [one, two], nowhere, timeout_s=5)
    assert one.got == two.got == [A, B, C]
    assert (book, complaints) == (Book(), ())


def test_a_sink_that_is_down_delays_and_loses_none_while_others_go_on():
    down, up = Fake("down", is_down=True), Fake("up")
    book, complaints = deliver(posted(down, up), [down, up], nowhere, timeout_s=5)
    assert (down.got, up.got) == ([], [A, B, C])
    assert complaints == ("3 alert(s) wait for the sink down: down: is down. Wait",)
    down.is_down = False
    book, complaints = deliver(book, [down, up], nowhere, timeout_s=5)
    assert (down.got, up.got, book, complaints) == ([A, B, C], [A, B, C], Book(), ())


def test_a_sink_that_hangs_is_left_behind():
    slow, up = Fake("slow", takes_s=30), Fake("up")
    began = time.monotonic()
    book, (complaint,) = deliver(posted(slow, up), [slow, up], nowhere, timeout_s=2)
    assert time.monotonic() - began < 20
    assert "3 alert(s) wait for the sink slow: it did not take an alert within 2 s" in complaint
    assert (book.waiting_for("slow"), up.got) == (3, [A, B, C])
    slow.close()


def test_a_slow_sink_gets_the_rest_the_next_time():
    slow = Fake("slow", takes_s=0.3)
    book, (complaint,) = deliver(posted(slow), [slow], nowhere, timeout_s=5, share_s=0.2)
    assert slow.got == [A]
    assert "2 alert(s) wait for the sink slow: more than one round takes" in complaint
    assert book.waiting_for("slow") == 2


def test_a_sink_that_settings_know_no_more_keeps_its_alerts():
    gone = Fake("gone")
    book = posted(gone)
    assert deliver(book, [], nowhere, timeout_s=5) == (book, ())


def test_each_delivery_is_kept_before_the_next():
    saved: list[Book] = []
    sink = Fake("one")
    deliver(posted(sink), [sink], saved.append, timeout_s=5)
    assert [book.waiting_for("one") for book in saved] == [2, 1, 0]


class KilledError(BaseException):
    """Stands for a kill."""


def test_a_crash_after_a_delivery_delivers_again_and_loses_none():
    sink = Fake("one")
    kept = posted(sink)

    def crash(_book: Book) -> None:
        raise KilledError

    with pytest.raises(KilledError):
        deliver(kept, [sink], crash, timeout_s=5)
    deliver(kept, [sink], nowhere, timeout_s=5)
    assert sink.got == [A, A, B, C]
    assert sink.got[0].id == sink.got[1].id


def test_a_mistake_in_a_sink_is_not_hidden():
    class Broken(Fake):
        def send(self, told: Alert) -> None:
            raise TypeError(told.id)

    sink = Broken("one")
    with pytest.raises(TypeError):
        deliver(posted(sink), [sink], nowhere, timeout_s=5)
