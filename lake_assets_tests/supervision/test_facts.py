from lake_assets.supervision.facts import Policy


def test_patience_grows_with_what_is_waited_for():
    policy = Policy(stall_after_s=180.0)
    assert policy.lock_within_s < policy.silent_after_s < policy.stall_after_s
    assert policy.first_delay_s < policy.longest_delay_s < policy.healthy_after_s
