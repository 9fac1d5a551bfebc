from io import StringIO

from rich.console import Console

from lake_assets.runtime.progress import download_bar


def test_without_a_console_there_is_no_bar():
    with download_bar(None) as on_progress:
        assert on_progress is None


def test_nothing_to_download_prints_nothing():
    output = StringIO()
    with download_bar(Console(file=output)):
        pass
    assert output.getvalue().strip() == ""


def test_the_bar_ends_full():
    output = StringIO()
    with download_bar(Console(file=output, width=100)) as on_progress:
        assert on_progress is not None
        on_progress(1_000_000, 4_000_000)
    assert "4.0/4.0 MB" in output.getvalue()
