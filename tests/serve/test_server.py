"""What the server of `rewardgen serve` gives to whom, over real HTTP, and that a page is told of what is new."""

import http.client
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from rewardgen.cli.pages import _way_in
from rewardgen.film.film_index import Film, Index
from rewardgen.serve.server import RunHandler, Server
from rewardgen.serve.site import RunSite
from rewardgen.store.progress import ProgressFile
from rewardgen.store.run_folder import RunFolder
from tests.cli.conftest import write_run
from tests.ui.story import RUN_ID, events

HOSTILE = '<script>document.title="owned"</script><img src=x onerror=alert(1)>'
CHROMIUM = shutil.which("chromium")


class Client:
    """A browser's requests, by hand: nothing of an address is tidied up."""

    def __init__(self, server):
        self.server = server
        self.host, self.cookie = urlsplit(server.url).netloc, f"{server.cookie}={server.token}"

    def get(self, path, method="GET", body=None, **headers):
        connection = http.client.HTTPConnection(*self.server.server_address, timeout=10)
        connection.putrequest(method, path, skip_host=True)
        for name, value in ({"Host": self.host, "Cookie": self.cookie} | headers).items():
            connection.putheader(name, value)
        connection.endheaders(body)
        return connection.getresponse()

    def status(self, path, **more):
        answer = self.get(path, **more)
        answer.read()
        return answer.status


@contextmanager
def serving(runs_dir, only=None):
    with Server(partial(RunHandler, RunSite(runs_dir, only))) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield Client(server)
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def client(tmp_path):
    write_run(tmp_path / "runs")
    (tmp_path / "secret.txt").write_text("secret")
    with serving(tmp_path / "runs") as client:
        yield client


@contextmanager
def held(folder):
    """As by a process that works on a run."""
    with RunFolder(folder).locked():
        yield


def test_only_whoever_has_the_link_is_let_in_and_a_cookie_keeps_it(client):
    for path in ("/", f"/runs/{RUN_ID}/", "/events", "/nothing", "/?token=wrong", "/?token="):
        assert client.status(path, Cookie="") == 403
        assert client.status(path, Cookie=f"{client.server.cookie}=wrong") == 403
    answer = client.get(client.server.url.removeprefix(f"http://{client.host}"), Cookie="")
    place = client.server.place
    assert answer.status == 200 and f"url={place}/" in answer.read().decode()
    # No other port of this host is asked for an address below that path, which is random.
    assert len(place) > 12
    assert answer.headers["Set-Cookie"] == f"{client.cookie}; HttpOnly; SameSite=Strict; Path={place}/"
    assert client.status(f"{place}/") == client.status(f"{place}/runs/{RUN_ID}/") == 200


def test_another_host_is_refused_though_it_brings_the_cookie(client):
    for host in ("evil.example", "evil.example:80", "127.0.0.1", "localhost:1", "", "127.0.0.1:80@evil"):
        assert client.status("/", Host=host) == 403, host
        assert client.status(f"/?token={client.server.token}", Host=host) == 403, host


def test_nothing_but_looking_is_understood(client):
    methods = ("POST", "PUT", "DELETE", "HEAD", "OPTIONS")
    assert {client.status("/", method=method) for method in methods} <= {405, 501}


ASTRAY = [
    "/runs/../../secret.txt",
    "/runs/%2e%2e/",
    "/runs/..%2f..%2f/",
    f"/runs/{RUN_ID}/../../secret.txt",
    f"/runs/{RUN_ID}/films/..%2f..%2f..%2fsecret.txt",
    f"/runs/{RUN_ID}/films/../events.jsonl",
    f"/runs/{RUN_ID}/events.jsonl",
    f"/runs/{RUN_ID}",
    "//secret.txt",
    "/%00",
    "/etc/passwd",
]


def test_no_address_leads_out_of_what_is_served(client):
    assert {path: client.status(path) for path in ASTRAY} == dict.fromkeys(ASTRAY, 404)


def test_a_run_that_is_served_alone_is_all_there_is(tmp_path):
    folder = write_run(tmp_path / "runs")
    write_run(tmp_path / "runs", run_id="20261120-191500-hopper-ffff")
    with serving(tmp_path / "runs", RunFolder(folder)) as client:
        assert client.get("/").headers["Location"] == f"{client.server.place}/runs/{RUN_ID}/"
        assert client.status("/runs/20261120-191500-hopper-ffff/") == 404


def test_pages_may_run_their_own_scripts_and_ask_this_server_only(client):
    for path in ("/", f"/runs/{RUN_ID}/"):
        answer = client.get(path)
        policy = dict(each.strip().split(" ", 1) for each in answer.headers["Content-Security-Policy"].split(";"))
        assert policy["default-src"] == "'none'" and policy["connect-src"] == policy["form-action"] == "'self'"
        assert policy["frame-ancestors"] == "'none'" and "unsafe" not in policy["script-src"]
        assert answer.headers["X-Content-Type-Options"] == "nosniff" and answer.headers["Cache-Control"] == "no-store"


def test_hostile_text_is_text_and_a_damaged_run_is_said_to_be_one(tmp_path):
    told = [event.model_copy(deep=True) for event in events()]
    told[0].data["card"]["name"] = HOSTILE
    told[0].data["config"]["model"] = HOSTILE
    for event in told:
        if event.kind == "designed":
            event.data["candidate"]["diagnosis"] = HOSTILE
    write_run(tmp_path / "runs", told)
    damaged = write_run(tmp_path / "runs", run_id="damaged<script>")
    (damaged / "events.jsonl").write_text("[" * 100_000 + "\n")
    with serving(tmp_path / "runs") as client:
        for path in ("/", f"/runs/{RUN_ID}/", "/runs/damaged%3Cscript%3E/"):
            text = client.get(path).read().decode()
            assert "<script>document" not in text and "<img src=x" not in text and "damaged<script>" not in text
        assert "All runs" in text and "<style>" in text, "the last one is a page like the others"
        assert client.status("/runs/damaged%3Cscript%3E/") == 500
        assert "is damaged at line 1" in client.get("/runs/damaged%3Cscript%3E/events").readline().decode()


def test_a_page_is_told_when_the_log_grows_and_how_far_a_training_is(tmp_path):
    told = events()
    number = next(number for number, event in enumerate(told) if event.kind == "trained")
    folder = write_run(tmp_path / "runs", told[:number])
    with held(folder), serving(tmp_path / "runs") as client:
        page = client.get(f"/runs/{RUN_ID}/").read().decode()
        stream = client.get(f"/runs/{RUN_ID}/events")
        assert stream.headers["Content-Type"] == "text/event-stream"
        first = read(stream)
        assert f'"served":"{first["version"]}"' in page and first["done"] == 0
        message = {"phase": "search", "candidate_id": "g00-k1", "seed": 0, "env_steps": 150_000, "fitness": 1.0}
        ProgressFile(folder / "progress.jsonl").progress(message | {"success_rate": 0.0})
        second = read(stream)
        assert second["version"] == first["version"] and second["done"] > 0 and "training" in second["text"]
        with open(folder / "events.jsonl", "a") as log:
            log.write(told[number].model_dump_json() + "\n")
        assert read(stream)["version"] != first["version"]


def read(stream):
    said = stream.readline().decode()
    assert stream.readline() == b"\n"
    return json.loads(said.removeprefix("data: "))


def film(folder: Path, name: str):
    place = folder / "films"
    place.mkdir()
    shot = Film(
        id="g01-k5", phase="final", seed=0, title="t", caption="c", seconds=1.0, fitness=1.0, success=True, name=name
    )
    (place / "index.json").write_text(Index(films=(shot,)).model_dump_json())
    for suffix in (".mp4", ".webp", ".png"):
        (place / f"{name}{suffix}").write_bytes(bytes(range(100)))
    return place


def test_ticked_runs_are_set_side_by_side(client, tmp_path):
    write_run(tmp_path / "runs", run_id="20261120-191500-hopper-ffff")
    assert 'action="compare"' in client.get("/").read().decode()
    page = client.get(f"/compare?run={RUN_ID}&run=20261120-191500-hopper-ffff").read().decode()
    assert page.count("20261120-191500-hopper-ffff") > 1 and "within noise" in page
    for query in ("", f"?run={RUN_ID}", f"?run={RUN_ID}&run=../../secret"):
        answer = client.get(f"/compare{query}")
        assert answer.status == 400 and "tick two" in answer.read().decode()


def test_the_list_shows_a_still_of_each_run_and_nothing_else_of_its_films(client, tmp_path):
    film(tmp_path / "runs" / RUN_ID, "a")
    assert f"runs/{RUN_ID}/films/a.png" in client.get("/").read().decode()
    still = client.get(f"/runs/{RUN_ID}/films/a.png")
    assert still.read() == bytes(range(100)) and still.headers["Content-Type"] == "image/png"
    assert client.status(f"/runs/{RUN_ID}/films/index.json") == client.status(f"/runs/{RUN_ID}/films/a.mp4") == 404


def test_a_film_that_lies_elsewhere_is_not_served(client, tmp_path):
    elsewhere = film(tmp_path, "a")
    os.symlink(elsewhere, tmp_path / "runs" / RUN_ID / "films")
    assert client.status(f"/runs/{RUN_ID}/films/a.png") == 404


BROWSER = """#!{python}
import os, shutil, sys, urllib.parse
page = urllib.parse.urlsplit(sys.argv[1]).path
with open("told", "w") as told:
    print(*sys.argv, file=told)
    for path in (page, os.path.dirname(page)) if os.path.exists(page) else ():
        print(oct(os.stat(path).st_mode & 0o777), file=told)
shutil.copy(page, "page.html")
"""


def test_the_token_is_not_on_the_command_line_of_the_browser(tmp_path):
    write_run(tmp_path / "runs")
    browser = tmp_path / "browser"
    browser.write_text(BROWSER.format(python=sys.executable))
    browser.chmod(0o700)
    command = [sys.executable, "-m", "rewardgen", "serve", "--open"]
    known = os.environ | {"BROWSER": f"{browser} %s", "TMPDIR": str(tmp_path)}
    with subprocess.Popen(command, cwd=tmp_path, env=known, stdout=subprocess.PIPE, text=True) as process:
        url = process.stdout.readline().strip()
        until = time.monotonic() + 30
        while not (tmp_path / "page.html").exists() and time.monotonic() < until:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
    token = urlsplit(url).query.removeprefix("token=")
    opened, *modes = (tmp_path / "told").read_text().split("\n")
    assert token and token not in opened and modes[:2] == ["0o600", "0o700"]
    assert url in (tmp_path / "page.html").read_text()
    assert process.returncode == 0 and list(tmp_path.glob("rewardgen-*")) == []


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
def test_a_browser_gets_in_from_a_page_that_leads_there_and_follows_the_run(tmp_path):
    playwright = pytest.importorskip("playwright.sync_api")
    told = [event.model_copy(deep=True) for event in events()]
    told[0].data["card"]["name"] = HOSTILE
    number = next(number for number, event in enumerate(told) if event.kind == "trained")
    folder = write_run(tmp_path / "runs", told[:number])
    with held(folder), serving(tmp_path / "runs") as client, playwright.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page, wrong = browser.new_page(), []

        def not_ours(url):
            return client.host not in url[:40] and not url.startswith("file:")

        page.on("console", lambda said: wrong.append(said.text))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("request", lambda asked: wrong.append(asked.url) if not_ours(asked.url) else None)
        with _way_in(client.server.url) as way_in:
            page.goto(way_in.as_uri())
            page.wait_for_selector("text=1 run, 1 under way")
        page.click(f"text={RUN_ID}")
        page.wait_for_selector("text=generation g00 (1 of at most 2)")
        with open(folder / "events.jsonl", "a") as log:
            log.writelines(event.model_dump_json() + "\n" for event in told[number:])
        page.wait_for_selector("button:has-text('Show what is new')")
        page.wait_for_selector("text=g01-k5", timeout=20_000)
        page.click("text=All runs")
        page.wait_for_selector("text=1 run, 1 under way")
        assert page.title() != "owned" and wrong == []
        browser.close()
