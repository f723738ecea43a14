import math
import pickle
import re
import shutil
import subprocess
from dataclasses import replace
from html.parser import HTMLParser

import pytest

import mfbandit as mf
from mfbandit.study import create_study
from mfbandit.study.report._page import answer, render
from mfbandit.study.report._result_words import sentence
from mfbandit.study.report._study_plots import differences

NASTY = "<script>document.title='owned'</script>\"'&"


def finished(arms=("a", "b"), **settings):
    problem = mf.Problem(list(arms), [("quick & dirty", 1.0, 0.05), (f"exact {NASTY}", 9.0)], reward="bernoulli")
    study = create_study(problem, **{"policy": "mf-toptwo", **settings})
    while not study.done:
        for pull in study.ask():
            study.tell(pull, float(pull.arm_index == 1))
    return study


class Page(HTMLParser):
    """Collects the tags of a page, and checks that they are closed in order."""

    void = ("meta", "link", "img", "br")

    def __init__(self, text):
        super().__init__()
        self.tags, self.open, self.text = [], [], ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in self.void:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def test_the_answer_in_a_sentence():
    certified = finished().result()
    assert answer(certified).startswith("'b' is the best, with a confidence of at least 0.95")
    near = finished(epsilon=0.1).result()
    assert "'b' is the best or within 0.1 of the best" in answer(near)
    ended = finished(max_cost=4).result()
    assert re.match(
        r"'.' leads with a confidence of 0[.0-9]*; the study ended at its maximal cost\. It cost",
        answer(ended),
    )
    spent = finished(policy="elimination", budget=500.0).result()
    assert "while a budget was spent" in answer(spent)
    cancelled = create_study(finished().problem).result("cancelled")
    assert answer(cancelled) == "There is no answer yet: the study was cancelled."


def test_a_page_has_everything(tmp_path):
    study = finished(name="mine")
    result = study.result()
    result.report(tmp_path / "page.html")
    page = Page((tmp_path / "page.html").read_text(encoding="utf-8"))
    titles = ("What is known of each arm", "What was spent where", "How sure it became", "The certificate")
    for title in (*titles, "To reproduce it"):
        assert title in page.text
    assert answer(result) in page.text
    assert '"seed": 0' in page.text
    assert '"name": "mf-toptwo"' in page.text
    assert sum(tag == "img" for tag, _ in page.tags) == 3
    assert all(attributes["alt"] for tag, attributes in page.tags if tag == "img")
    assert list(tmp_path.iterdir()) == [tmp_path / "page.html"]


def test_nothing_comes_from_outside(tmp_path):
    text = render(finished().result(), finished())
    page = Page(text)
    for tag, attributes in page.tags:
        assert tag not in ("script", "iframe", "object")
        for name in ("src", "href", "data", "action"):
            assert (attributes.get(name) or "data:").startswith("data:")
    assert "@import" not in text
    assert "url(" not in text


def test_names_are_text_not_code():
    page = Page(render(finished([NASTY, f"{NASTY}!"], name=f"{NASTY}.").result()))
    assert f"{NASTY}!" in page.text
    assert not any(tag == "script" for tag, _ in page.tags)


def test_a_result_without_its_study_still_has_a_page(tmp_path):
    result = finished().result()
    copy = pickle.loads(pickle.dumps(result))
    assert copy == result
    copy.report(tmp_path / "page.html")
    page = Page((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert "What is known of each arm" in page.text
    assert "How sure it became" not in page.text


def test_a_study_without_results_has_a_page():
    study = create_study(mf.Problem(["a", "b"], [("exact", 1.0, 0.0)]))
    assert "There is no answer yet" in Page(render(study.result(), study)).text


def test_failures_and_retired_arms_are_shown():
    problem = mf.Problem(["a", "b", "c"], [("exact", 1.0, 0.0)], reward="bernoulli")
    study = create_study(problem, retries=0, on_failure="retire", policy="mf-toptwo")
    while not study.done:
        for pull in study.ask():
            if pull.arm == "c":
                study.fail(pull, "the <judge> is ill")
            else:
                study.tell(pull, float(pull.arm == "b"))
    assert "the <judge> is ill" in Page(render(study.result(), study)).text
    stopped = create_study(problem, retries=0)
    stopped.fail(stopped.ask()[0], "the <judge> is ill")
    assert "What failed" in Page(render(stopped.result(), stopped)).text


def test_broken_bounds_are_shown():
    problem = mf.Problem(["a", "b"], [("judge", 1.0, 0.01), ("expert", 1.0)], reward="bernoulli")
    study = create_study(problem, policy="lucb-b:top=1,second=0.1,bound=kl", on_violation="stop")
    while not study.done:
        for pull in study.ask():
            study.tell(pull, float(pull.fidelity == "judge"))
    page = Page(render(study.result(), study))
    assert "The data contradict the model" in page.text
    assert "The data contradict the bias bounds of arm" in page.text
    assert "the study stopped because the data contradict a bias bound" in page.text
    assert sentence(study.result()).startswith("The study stopped after")


def test_a_race_says_how_far_the_best_is_ahead():
    """The closest arm first, no bound of minus zero, and nobody is called beaten who is only within epsilon."""
    rewards = {"a": [1.0, 1.0, 1.0, 0.0], "b": [1.0, 1.0, 0.0, 0.0], "c": [1.0, 1.0, 1.0, 0.0]}
    problem = mf.Problem(list(rewards), [("exact", 1.0)], "bernoulli", blocks=4)
    text = render(mf.identify(problem, lambda pull: rewards[pull.arm][pull.block], progress=False))
    assert "With the same probability no arm is better than &#x27;a&#x27;." in text
    assert f"needed: {-math.log(0.05):.2f}" in text
    rows = re.findall(r"<tr[^>]*><td class='text'>(.*?)</td><td class='text'>(.*?)</td>(.*?)</tr>", text)
    assert [(arm, verdict) for arm, verdict, _ in rows] == [("a", "best"), ("c", "equal"), ("b", "beaten")]
    assert "<td>0</td><td>0</td>" in rows[1][2]
    assert "-0<" not in text
    equal = mf.Problem(["a", "b"], [("exact", 1.0)], "bernoulli", blocks="unlimited")
    assert "at most 0.5 better" in render(mf.identify(equal, lambda pull: 1.0, epsilon=0.5, progress=False))


def test_the_page_in_a_browser(tmp_path):
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("there is no Chromium to look at the page with")
    file, picture = tmp_path / "page.html", tmp_path / "page.png"
    finished([NASTY, "b", "c"], name=NASTY).result().report(file)
    basics = [
        browser,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        f"--user-data-dir={tmp_path / 'profile'}",
    ]
    shown = subprocess.run(
        [
            *basics,
            "--enable-logging=stderr",
            "--v=0",
            "--window-size=1000,1600",
            f"--screenshot={picture}",
            file.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert picture.read_bytes()[:4] == b"\x89PNG"
    assert "CONSOLE" not in shown.stderr
    seen = subprocess.run([*basics, "--dump-dom", file.as_uri()], capture_output=True, text=True, timeout=60)
    assert "<title>mfbandit: " in seen.stdout
    assert "<title>owned" not in seen.stdout


def test_bars_much_wider_than_others_are_cut():
    ends = {"b": (0.1, 0.2), "c": (0.0, 0.15), "d": (-0.1, 0.1), "e": (-5.0, 7.0), "f": (-math.inf, math.inf)}
    result = replace(finished().result(), best="a", differences=ends)
    (axes,) = differences(result).axes
    assert axes.get_xlim() == pytest.approx((-0.115, 0.215))
    arrows = [(line.get_marker(), *line.get_ydata()) for line in axes.lines if line.get_marker() in "<>"]
    assert sorted(arrows) == [("<", 3), ("<", 4), (">", 3), (">", 4)]
    alike = replace(result, differences={"b": (0.1, 0.2), "c": (0.0, 0.3)})
    assert differences(alike).axes[0].get_xlim() == pytest.approx((-0.015, 0.315))
