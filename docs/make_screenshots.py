"""Pictures of every page, as a browser shows them: light, dark, and 400 pixels wide.

Run it as ``python docs/make_screenshots.py FOLDER``, and look at them. It needs Chromium, and playwright.
"""

import random
import shutil
import sys
import threading
from pathlib import Path
from urllib.parse import quote

from playwright.sync_api import sync_playwright

import mfbandit as mf
from mfbandit.serve import app, new_token, run
from mfbandit.serve._keys import Keys
from mfbandit.storage import MemoryStorage

LOOKS = {"light": ("light", 1200), "dark": ("dark", 1200), "narrow": ("light", 400)}
NAMES = ["step by step", "short", "with examples", "<script>alert(1)</script>", "\u202eright to left", "x" * 10_000]


def play(study, pulls, reward):
    """Play a study for so many pulls, or until it is done."""
    told = 0
    while told < pulls and not study.done:
        found = study.ask(8)
        for pull in found:
            study.tell(pull, reward(pull))
        told += len(found) or pulls


def make_studies(storage):
    """A study that runs, a race that is certified, one for people, and one that has not begun."""
    draw = random.Random(3)
    judges = [mf.Fidelity("small judge", 0.01, 0.1), mf.Fidelity("large judge", 0.1, 0.03), mf.Fidelity("human", 1.0)]
    problem = mf.Problem(NAMES, judges, reward="bernoulli")
    study = mf.create_study(problem, storage=storage, name="prompts", width=8, max_cost=4000)
    play(study, 1500, lambda pull: float(draw.random() < 0.85 - 0.08 * pull.arm_index))
    for pull in study.ask(5):
        last = pull
    study.fail(last, "the judge did not answer: HTTP 503")
    race = mf.Problem([f"model {k}" for k in range(12)], [mf.Fidelity("judge", 0.02, 0.05), ("human", 1.0)], blocks=400)
    blocks = mf.create_study(race, storage=storage, name="race on blocks", width=8)
    play(blocks, 3000, lambda pull: min(1.0, 0.5 * random.Random(pull.block).random() + 0.04 * pull.arm_index))
    people = mf.Problem(["a", "b", "c"], [("judge", 0.1, 0.2), mf.Fidelity("human", 1.0, by="people")], blocks=50)
    graded = mf.create_study(people, storage=storage, name="with people", width=12)
    play(graded, 500, lambda pull: 0.3 + 0.1 * pull.arm_index)
    for pull in graded.ask(4, people=True):
        graded.tell(pull, 0.5, note='{"by": "Ann", "shown": "x"}')
    mf.create_study(problem, storage=storage, name="nothing yet")


def show(pull):
    """What people are shown."""
    answer = "The capital is **Paris**.\n\n- It lies on the Seine.\n- `print('hello')`\n\n```\ncode\n```"
    return {"item": f"What is the capital of France? ({pull.block})", "answer": answer, "format": "markdown"}


def serve(storage, token):
    """Serve a storage in a thread that ends with this program; returns the address."""
    taken, ready = [], threading.Event()
    page = app(storage, token=token, show=show)
    known = (page, "127.0.0.1", 0, lambda port: (taken.append(port), ready.set()))
    threading.Thread(target=run, args=known, daemon=True).start()
    ready.wait()
    return f"http://127.0.0.1:{taken[0]}"


def main(folder):
    """Make all pictures."""
    folder.mkdir(parents=True, exist_ok=True)
    storage, token = MemoryStorage(), new_token()
    make_studies(storage)
    address = serve(storage, token)
    pages = {"studies": f"/#token={token}"}
    pages |= {f"study {name}": f"/study/{quote(name, safe='')}#token={token}" for name in storage.headers()}
    pages["grade"] = f"/grade/with%20people#token={Keys(token, 'open').grade_token('with people')}"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for look, (scheme, width) in LOOKS.items():
            context = browser.new_context(color_scheme=scheme, viewport={"width": width, "height": 900})
            for name, path in pages.items():
                page = context.new_page()
                page.set_default_timeout(120_000)
                page.on("console", lambda message, name=name: print(f"{name}: {message.text}", file=sys.stderr))
                page.on("pageerror", lambda error, name=name: print(f"{name}: {error}", file=sys.stderr))
                page.goto(f"{address}{path}")
                page.wait_for_selector("h1")
                if name == "grade":
                    page.get_by_label("your name").fill("Bo")
                    page.get_by_role("button", name="Begin").click()
                if name == "studies":
                    page.get_by_label("compare prompts").check()
                    page.get_by_label("compare race on blocks").check()
                page.wait_for_timeout(4000)
                page.screenshot(path=folder / f"{name} {look}.png", full_page=True)
                page.close()
            context.close()
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
