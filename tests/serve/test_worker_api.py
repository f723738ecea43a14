"""Asking and telling over HTTP."""

import json
import os
import re
import shlex
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import mfbandit as mf
from mfbandit.serve import app

ROOT = Path(__file__).parents[2]
API = "/api/studies/mine"


def test_a_study_is_played_over_http_as_it_is_in_python(worker, problem):
    here = mf.create_study(problem, max_cost=200, width=4)
    while True:
        found = worker.post(f"{API}/ask", json={"n": 3}).json()
        asked = here.ask(3)
        assert [(pull["id"], pull["arm"], pull["seed"]) for pull in found["pulls"]] == [
            (pull.id, pull.arm, pull.seed) for pull in asked
        ]
        if not asked:
            break
        rewards = [(pull.id, float(pull.arm == "good")) for pull in asked]
        here.tell_all(rewards)
        told = worker.post(f"{API}/tell", json={"rewards": [{"pull": n, "reward": x} for n, x in rewards]}).json()
        assert len(told["counted"]) == len(rewards)
    assert found["status"] == here.status == "certified"
    shown = worker.get(API).json()
    assert (shown["best"], shown["cost"], shown["pulls"]) == ("good", here.cost, here.view().pulls)
    assert shown["confidence"] == here.confidence
    assert worker.get(f"{API}/verify").json()["valid"]
    assert worker.get(f"{API}/certificate").json()["answer"] == "good"


def test_failures_heartbeats_and_pulls_that_are_given_back(worker):
    first, second = worker.post(f"{API}/ask", json={"n": 2, "lease_seconds": 60}).json()["pulls"]
    out = worker.get(API).json()["out"]
    assert [one["pull"] for one in out] == [first["id"], second["id"]]
    assert worker.post(f"{API}/heartbeat", json={"pulls": [first["id"], 999]}).json()["wanted"] == [first["id"]]
    failed = worker.post(f"{API}/fail", json={"pull": first["id"], "reason": "no answer", "cost": 0.25}).json()
    assert failed == {"counted": True, "status": "running"}
    shown = worker.get(API).json()
    assert ([one["reason"] for one in shown["failures"]], shown["cost"]) == (["no answer"], 0.25)
    assert worker.post(f"{API}/release", json={"pulls": [second["id"]]}).json() == {"status": "running"}
    assert worker.get(API).json()["n_out"] == 0
    again = worker.post(f"{API}/ask", json={"n": 2}).json()["pulls"]
    assert again == [first, second]
    assert worker.post(f"{API}/tell", json={"pull": first["id"], "reward": 1}).json()["counted"] is True
    assert worker.post(f"{API}/tell", json={"pull": first["id"], "reward": 0}).json()["counted"] is False


@pytest.mark.parametrize(
    ("path", "sent", "said"),
    [
        ("ask", {"n": 0}, "n must be a whole number from 1 to 1000, got '0'"),
        ("ask", {"n": True}, "n must be a whole number"),
        ("ask", {"m": 1}, "'m' is unknown here"),
        ("ask", {"lease_seconds": 10**4000}, "lease_seconds must be a number"),
        ("tell", {"pull": 0, "reward": "1"}, "a reward must be a number, got '1'"),
        ("tell", {"pull": 0, "reward": 2.0}, "got 2.0"),
        ("tell", {"pull": -1, "reward": 1.0}, "a whole number"),
        ("tell", {"rewards": [1]}, "rewards must be a list of objects"),
        ("fail", {"pull": 0, "reason": 3}, "reason must be a text"),
        ("fail", {"pull": 0, "cost": -1}, "the cost of a pull must be a finite number >= 0, got -1"),
        ("heartbeat", {"pulls": 3}, "pulls must be a list of at most 1000"),
        ("release", [], "must be a JSON object"),
        ("ask", "[" * 100_000, "must be a JSON object"),
    ],
)
def test_bad_requests_get_one_sentence(worker, path, sent, said):
    body = sent if isinstance(sent, str) else json.dumps(sent)
    found = worker.post(f"{API}/{path}", content=body)
    assert found.status_code == 400
    assert said in found.json()["error"]
    assert worker.get(API).json()["pulls"] == 0


def test_what_is_unknown_is_said_to_be(worker):
    assert worker.get("/api/studies/other").status_code == 404
    assert worker.post("/api/studies/other/ask").json() == {"error": "there is no study named 'other'"}
    never = worker.post(f"{API}/tell", json={"pull": 77, "reward": 1.0})
    assert (never.status_code, never.json()["error"]) == (409, "pull 77 was never handed out by study 'mine'")
    assert worker.get("/api/nothing").status_code == 404


def test_names_may_hold_anything(worker, storage, problem):
    for name in ("a/b c", "100%", "<script>", "quotes \"'", "\u202eright to left", "ask"):
        mf.create_study(problem, storage=storage, name=name)
        path = "/api/studies/" + "".join(f"%{byte:02X}" for byte in name.encode())
        assert worker.post(f"{path}/ask").json()["pulls"][0]["id"] == 0
        assert worker.get(path).json()["study"] == name
    assert worker.get("/api/studies").json()["studies"][0] == "mine"


def test_the_openapi_file_names_what_there_is(worker, storage):
    described = worker.get("/api/openapi.json").json()
    written = {
        (path, method) for path, entry in described["paths"].items() for method in entry if method != "parameters"
    }
    page = app(storage)
    served = {
        (route.path.replace("{name:path}", "{name}"), method.lower())
        for route in page.routes
        for method in getattr(route, "methods", None) or ()
        if route.path.startswith("/api/studies") and method != "HEAD" and not route.path.endswith("/events")
    }
    assert written == served
    pull = worker.post(f"{API}/ask").json()["pulls"][0]
    assert set(pull) == set(described["components"]["schemas"]["Pull"]["required"])
    shown = worker.get(API).json()
    assert set(described["components"]["schemas"]["Study"]["required"]) <= set(shown)


def test_the_page_of_workers_runs_as_it_stands(tmp_path, monkeypatch):
    """Its study is made, served and worked on by its own lines: curl, and the examples in JavaScript and shell."""
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs" / "workers_in_any_language.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)
    made, serves, works, tries = (content for _, content in blocks)
    exec(compile(made, "workers_in_any_language.md", "exec"), {})
    environment = {**os.environ, "MFBANDIT_TOKEN": "a token for the examples"}
    command = [sys.executable, "-m", *serves.splitlines()[1].split(), "--port", "0"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as server:
        watchdog = threading.Timer(60, server.kill)
        watchdog.start()
        try:
            url = server.stdout.readline().removeprefix("Open ").strip()
            assert url.startswith("http://127.0.0.1:"), server.stderr.read()
            assert "#" not in url  # a token that was given is not printed
            run = {"stdout": subprocess.PIPE, "text": True, "env": environment, "cwd": ROOT / "examples"}
            address = "http://127.0.0.1:8321/"
            tried = subprocess.run(["sh", "-c", tries.replace(address, url)], **run, check=True).stdout
            asked, told, failed = (json.loads(line) for line in tried.replace("}{", "}\n{").splitlines())
            assert [pull["id"] for pull in asked["pulls"]] == [0, 1]
            assert told == failed == {"counted": True, "status": "running"}
            commands = [shlex.split(line.replace(address, url)) for line in works.splitlines()[1:]]
            workers = [subprocess.Popen(words, **run) for words in commands]
            said = [worker.communicate(timeout=50)[0] for worker in workers]
            assert [worker.returncode for worker in workers] == [0, 0], said
            server.terminate()
            server.wait(20)
        finally:
            watchdog.cancel()
            server.kill()
    assert all("certified" in one for one in said)
    with mf.load_study("prompts.db") as study:
        assert (study.status, study.best) == ("certified", "good")
