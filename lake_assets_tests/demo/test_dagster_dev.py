import socket

from lake_assets.demo.dagster_dev import free_port


def test_a_free_port_is_taken_as_wanted():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        wanted = probe.getsockname()[1]
    assert free_port(wanted) == wanted


def test_a_port_in_use_is_replaced_by_another():
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        taken = holder.getsockname()[1]
        assert free_port(taken) != taken
