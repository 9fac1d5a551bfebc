from lake_assets.gold.first_refresh import first_refreshes


def decided(never_computed=(), asked=(), turned_off=()):
    found = first_refreshes(
        ["daily", "hourly"], never_computed=never_computed, asked=asked, turned_off=turned_off
    )
    return found.due, found.asked


def test_a_view_that_was_never_computed_is_asked_for_once():
    assert decided({"hourly"}) == (("hourly",), ("hourly",))
    assert decided({"hourly"}, asked=["hourly"]) == ((), ("hourly",))


def test_several_are_asked_for_in_the_order_of_the_feed():
    assert decided({"hourly", "daily"}) == (("daily", "hourly"), ("daily", "hourly"))


def test_what_was_computed_is_forgotten_so_that_it_is_asked_for_after_a_reset():
    assert decided(set(), asked=["hourly"]) == ((), ())


def test_what_is_turned_off_is_not_asked_for_and_not_remembered():
    assert decided({"hourly"}, turned_off={"hourly"}) == ((), ())


def test_a_view_without_a_schedule_is_nobodys():
    assert decided({"other"}) == ((), ())
