import threading

import pytest

from lake_assets.streams.refresh_answers import NotRefreshedHereError
from lake_assets.streams.view_inbox import ViewInbox
from lake_assets.streams.view_orders import Ask, Last, Nudge


def test_orders_come_in_their_order():
    inbox = ViewInbox()
    inbox.put(Nudge(is_after_view=False))
    answer = inbox.ask(["uno"])
    inbox.put(Last())
    assert inbox.next(1) == Nudge(is_after_view=False)
    assert inbox.next(1) == Ask(["uno"], answer)
    assert inbox.next(1) == Last()
    assert inbox.next(-1) is None


def test_who_waits_when_the_thread_ends_and_who_asks_later_is_refused():
    inbox = ViewInbox()
    waits = inbox.ask(None)
    assert not waits.done()
    inbox.close()
    for answer in (waits, inbox.ask(None)):
        with pytest.raises(NotRefreshedHereError):
            answer.result(0)


def test_nobody_who_asks_while_the_thread_ends_waits_for_ever():
    for _ in range(200):
        inbox, answers = ViewInbox(), []
        asking = threading.Thread(target=lambda: answers.extend(inbox.ask(None) for _ in range(5)))  # noqa: B023
        asking.start()
        inbox.close()
        asking.join()
        assert len(answers) == 5
        assert all(answer.done() for answer in answers)
