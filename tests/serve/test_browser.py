"""The pages in a real browser: a study is followed, people grade, and whatever names hold, they only show."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import httpx
import pytest
import uvicorn
from playwright.sync_api import expect, sync_playwright

import mfbandit as mf
from mfbandit.serve import app
from mfbandit.serve._keys import Keys
from mfbandit.serve.live import _live_study
from mfbandit.serve.people import _grading_session
from mfbandit.storage import MemoryStorage, open_storage
from mfbandit.study.report import _log_totals, log_totals, results_with_notes

from .conftest import TOKEN

EVIL = [
    "<script>window.hacked = 1</script>",
    "<img src=x onerror='window.hacked = 2'>",
    '" onmouseover="window.hacked = 3" \'',
    "\u202eright to left\u202c",
    "x" * 10_000,
]


@pytest.fixture(scope="module")
def browser():
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        pytest.skip("no Chromium is installed")
    with sync_playwright() as playwright:
        # As root, which tests in containers run as, Chromium has no sandbox.
        chromium = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@contextmanager
def served(storage, **settings):
    """Serve a storage on a free port, in a thread."""
    config = uvicorn.Config(
        app(storage, token=TOKEN, **settings), port=0, log_level="warning", timeout_graceful_shutdown=1
    )
    server = uvicorn.Server(config)
    running = threading.Thread(target=server.run)
    running.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        running.join()


@contextmanager
def opened(browser, address, **settings):
    """A page of a browser of its own; whatever goes wrong on it fails the test."""
    context = browser.new_context(**settings)
    page = context.new_page()
    wrong = []
    page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("dialog", lambda dialog: wrong.append(dialog.message))
    page.goto(address)
    try:
        yield page
        assert not wrong
    finally:
        context.close()


def test_a_page_follows_a_study_and_names_do_nothing_but_show(browser):
    storage = MemoryStorage()
    problem = mf.Problem(["good", *EVIL], [("quick <b>", 1.0, 0.05), ("exact", 3.0)], reward="bernoulli")
    name = "a/b <script>window.hacked = 4</script> \u202e"
    study = mf.create_study(problem, storage=storage, name=name, width=4, policy="lucb-top")
    with served(storage) as address, opened(browser, f"{address}/#token={TOKEN}") as page:
        expect(page.get_by_role("link", name="<script>")).to_be_visible()
        assert "token" not in page.url
        page.get_by_role("link", name="<script>").click()
        expect(page.locator("h1")).to_have_text("There is no answer yet: the study is still running.")
        held, failed = study.ask(2)
        study.fail(failed, EVIL[0])
        expect(page.get_by_role("table", name="out now")).to_contain_text(held.arm)
        expect(page.get_by_role("table", name="failures")).to_contain_text("<script>window.hacked = 1</script>")
        study.tell(held, float(held.arm == "good"))
        expect(page.get_by_text("No pull is being evaluated.")).to_be_visible()
        while not study.done:
            for pull in study.ask(4):
                study.tell(pull, float(pull.arm == "good"))
        expect(page.locator(".badge")).to_have_text("certified", timeout=60_000)
        expect(page.locator("h1")).to_contain_text("'good' is the best")
        arms = page.get_by_role("table", name="arms")
        for evil in EVIL[:3]:
            expect(arms).to_contain_text(evil)
        expect(arms).to_contain_text("\\u202eright to left")
        page.get_by_role("button", name="Verify").click()
        expect(page.get_by_text("Verified: ")).to_be_visible()
        assert page.locator("canvas").count() == 2
        assert page.evaluate("window.hacked") is None
        assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


def test_all_studies_are_listed_and_compared(browser, problem):
    storage = MemoryStorage()
    for name in ("one", "two"):
        study = mf.create_study(problem, storage=storage, name=name, width=4)
        for pull in study.ask(4):
            study.tell(pull, float(pull.arm == "good"))
    with served(storage) as address, opened(browser, address, viewport={"width": 400, "height": 800}) as page:
        expect(page.get_by_role("table", name="studies").locator("tbody tr")).to_have_count(2)
        for name in ("one", "two"):
            page.get_by_label(f"compare {name}").check()
        expect(page.locator(".legend li")).to_have_count(3)
        mf.create_study(problem, storage=storage, name="three")
        expect(page.get_by_role("link", name="three")).to_be_visible()
        assert page.get_by_label("compare one").is_checked()
        # Nothing has to be scrolled sideways.
        assert page.locator(".scroll").evaluate("list => list.scrollWidth <= list.clientWidth")
        page.goto("about:blank")
        with browser.new_context() as context:  # the browser itself says that there is nothing: no error of the page
            lost = context.new_page()
            lost.goto(f"{address}/study/nothing")
            expect(lost.get_by_role("status").first).to_have_text("There is no study named 'nothing'.")


def test_a_page_that_needs_its_token_asks_for_it(browser, storage):
    with served(storage, reading="token") as address, opened(browser, f"{address}/study/mine") as page:
        page.get_by_label("token").fill(TOKEN)
        page.get_by_role("button", name="Enter").click()
        expect(page.locator("h1")).to_contain_text("There is no answer yet")


def test_two_people_grade_at_once_and_one_leaves_in_the_middle(browser, monkeypatch):
    monkeypatch.setattr(_grading_session, "UNDO_SECONDS", 1.0)
    storage = MemoryStorage()
    problem = mf.Problem(["secret good", "secret poor"], [mf.Fidelity("human", 1.0, by="people")], blocks=12)
    study = mf.create_study(problem, storage=storage, name="graded", width=6)

    def show(pull):
        answer = f"**{'right' if pull.arm == 'secret good' else 'wrong'}** {pull.block} {EVIL[1]}"
        return {"item": f"question {pull.block} {EVIL[0]}", "answer": answer, "format": "markdown"}

    link = f"/grade/graded#token={Keys(TOKEN, 'open').grade_token('graded')}"

    def begin(page, name):
        page.get_by_label("your name").fill(name)
        page.get_by_role("button", name="Begin").click()
        expect(page.locator(".item")).to_be_visible()

    def shown(page):
        return page.locator(".item").text_content(), page.locator(".answer").text_content()

    def grade(page):
        before = page.locator("#count").text_content()
        page.keyboard.press("9" if page.locator(".answer strong").text_content() == "right" else "0")
        expect(page.locator("#count")).not_to_have_text(before)

    with served(storage, show=show) as address, opened(browser, address + link) as ann:
        begin(ann, "Ann")
        with opened(browser, address + link) as bo:
            begin(bo, "Bo")
            expect(bo.locator(".answer")).to_contain_text(EVIL[1])
            assert "secret" not in bo.content()
            grade(ann)
            grade(bo)
            undone = shown(bo)
            bo.keyboard.press("u")
            expect(bo.locator("#count")).to_have_text("0 graded")
            assert shown(bo) != undone
            grade(bo)
            left = shown(bo)
            assert left != shown(ann)
            assert bo.evaluate("window.hacked") is None
        with opened(browser, f"{address}/study/graded#token={TOKEN}") as owner:
            expect(owner.get_by_role("table", name="people")).to_contain_text("Bo")
            assert owner.locator("#grade-link").get_attribute("href") == link
        seen = set()
        while not study.done:
            if ann.locator(".item").count():
                seen.add(shown(ann))
                grade(ann)
            else:
                time.sleep(0.05)  # what was graded last is told in a moment
        assert left in seen
        expect(ann.locator("h1")).to_have_text("All is graded. Thank you.")
    assert (study.status, study.best) == ("certified", "secret good")
    people = [json.loads(noted.note)["by"] for noted in results_with_notes(study)]
    assert people.count("Bo") == 1
    assert set(people) == {"Ann", "Bo"}
    assert not study.current().round.leases


WORKER = """
import sys, time, mfbandit as mf
mf.load_study(sys.argv[1]).optimize(lambda pull: time.sleep(60) or 1.0, progress=False)
"""


def test_a_worker_that_is_killed_is_seen_to_be_gone(browser, tmp_path, problem, monkeypatch):
    monkeypatch.setattr(_live_study, "_CHECK_SECONDS", 0.5)
    path = str(tmp_path / "s.db")
    study = mf.create_study(problem, storage=path, name="worked", width=2)
    with (
        subprocess.Popen([sys.executable, "-c", WORKER, path]) as worker,
        served(open_storage(path)) as address,
        opened(browser, f"{address}/study/worked") as page,
    ):
        try:
            out = page.get_by_role("table", name="out now")
            expect(out).to_contain_text(f"process {worker.pid} on", timeout=60_000)
        finally:
            os.kill(worker.pid, signal.SIGKILL)
            worker.wait()
        expect(out).to_contain_text("which is gone")
        pulls = study.ask(2)  # one of them is that of the worker
        assert {pull.id for pull in pulls} == {0, 1}
        study.tell_all([(pull, 1.0) for pull in pulls])
        expect(page.get_by_text("No pull is being evaluated.")).to_be_visible()
        expect(page.locator(".tiles")).to_contain_text("pulls2")


def test_a_page_follows_a_study_in_postgresql(browser, problem, postgres_database, monkeypatch):
    monkeypatch.setattr(_log_totals, "_LONG", 20)
    study = mf.create_study(problem, storage=postgres_database, name="kept", width=4)
    study.tell_all([(pull, 1.0) for pull in study.ask(4)])
    headers = {"Authorization": f"Bearer {TOKEN}"}
    with served(postgres_database) as address, opened(browser, f"{address}/study/kept") as page:
        expect(page.locator(".tiles")).to_contain_text("pulls4", timeout=30_000)
        study.tell_all([(pull, 1.0) for pull in study.ask(4)])
        expect(page.locator(".tiles")).to_contain_text("pulls7")
        api = f"{address}/api/studies/kept"
        (pull,) = httpx.post(f"{api}/ask", json={}, headers=headers).json()["pulls"]
        expect(page.get_by_role("table", name="out now")).to_contain_text(pull["arm"])
        told = httpx.post(f"{api}/tell", json={"pull": pull["id"], "reward": 1.0}, headers=headers).json()
        assert told == {"counted": True, "status": "running"}
        expect(page.locator(".tiles")).to_contain_text("pulls8")
        page.get_by_role("button", name="Verify").click()
        expect(page.get_by_text("Not proven: ")).to_be_visible(timeout=30_000)
    assert study.view().pulls == 8
    found = log_totals(study.storage, "kept")
    assert (found["pulls"], found["cost"]) == (8, study.cost)
    study.storage.close()
