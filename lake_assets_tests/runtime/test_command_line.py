import subprocess

from lake_assets.runtime.command_line import command_line


def test_it_runs_from_any_folder(tmp_path):
    done = subprocess.run(  # noqa: S603 - our own command line
        command_line("--help"), cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert "A lakehouse that one command starts" in done.stdout
