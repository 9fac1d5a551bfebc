"""`.ci/audit.py`, which `make check` runs: by a service, and by the list where there is none."""

import json
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

LOCK = "requests==2.19.0 \\\n    --hash=sha256:00\ncoverage[toml]==7.1 ; python_version < '4'\n"

NOWHERE = "http://127.0.0.1:1"


@pytest.fixture
def audit(tmp_path):
    (tmp_path / "some.lock").write_text(LOCK)
    known = {
        "date": "2026-01-02",
        "accepted": [{"id": "CVE-2", "why": "not called"}],
        "advisories": [
            {"package": "requests", "affected": "<2.20", "id": "CVE-1"},
            {"package": "requests", "affected": "<2.20", "id": "CVE-2"},
            {"package": "coverage", "affected": "<7", "id": "CVE-3"},
        ],
    }

    def run(url, **changed):
        (tmp_path / "known.json").write_text(json.dumps(known | changed))
        program = [sys.executable, ROOT / ".ci" / "audit.py", "--lock", tmp_path / "some.lock"]
        return subprocess.run(  # noqa: S603 - our own program
            [*program, "--osv", url, "--advisories", tmp_path / "known.json"],
            capture_output=True,
            text=True,
            check=False,
        )

    return run


@pytest.fixture
def osv():
    asked, answers = [], []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            content = json.dumps(answers[0]).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as web:
        threading.Thread(target=web.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{web.server_port}", asked, answers
        web.shutdown()


def test_the_service_is_asked_about_each_pin(audit, osv):
    url, asked, answers = osv
    answers.append({"results": [{"vulns": [{"id": "GHSA-x"}, {"id": "CVE-2"}]}, {}]})
    done = audit(url)
    assert done.returncode == 1
    assert done.stderr.startswith("requests==2.19.0: https://osv.dev/GHSA-x. Take another")
    assert [(q["package"]["name"], q["version"]) for q in asked[0]["queries"]] == [
        ("requests", "2.19.0"),
        ("coverage", "7.1"),
    ]


def test_what_the_service_knows_nothing_of_is_well(audit, osv):
    url, _, answers = osv
    answers.append({"results": [{"vulns": [{"id": "CVE-2"}]}, {}]})
    done = audit(url)
    assert (done.returncode, "OSV knows of nothing about the 2 pins" in done.stdout) == (0, True)


def test_without_a_service_the_list_is_looked_through_and_says_its_age(audit):
    done = audit(NOWHERE)
    assert (done.returncode, "requests==2.19.0: https://osv.dev/CVE-1." in done.stderr) == (1, True)
    done = audit(NOWHERE, advisories=[])
    assert done.returncode == 0
    assert "could not be asked (ConnectError), so this is no audit" in done.stdout
    assert "listed on 2026-01-02" in done.stdout


def test_an_answer_that_is_none_counts_as_no_service(audit, osv):
    url, _, answers = osv
    answers.append(["what"])
    done = audit(url, advisories=[])
    assert (done.returncode, "could not be asked" in done.stdout) == (0, True)


def test_no_pin_of_ours_is_on_the_list():
    done = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, ROOT / ".ci" / "audit.py", "--osv", NOWHERE],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
