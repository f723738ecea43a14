"""Pictures of every page, as a browser shows them: light, dark, and 400 pixels wide.

Run it as ``python docs/make_screenshots.py STORAGE FOLDER``, and look at them. It needs Chromium, and
playwright.
"""

import shutil
import sys
import threading
from pathlib import Path
from urllib.parse import quote

from playwright.sync_api import sync_playwright

from mfbandit.serve import app, new_token, run
from mfbandit.storage import open_storage

LOOKS = {"light": ("light", 1200), "dark": ("dark", 1200), "narrow": ("light", 400)}


def serve(storage, token):
    """Serve a storage in a thread that ends with this program; returns the address."""
    taken, ready = [], threading.Event()
    page = app(storage, token=token)
    threading.Thread(
        target=run, args=(page, "127.0.0.1", 0, lambda port: (taken.append(port), ready.set())), daemon=True
    ).start()
    ready.wait()
    return f"http://127.0.0.1:{taken[0]}"


def main(where, folder):
    """Make all pictures."""
    folder.mkdir(parents=True, exist_ok=True)
    storage, token = open_storage(where, existing=True), new_token()
    address = serve(storage, token)
    pages = {"studies": "/", **{f"study {name}": f"/study/{quote(name, safe='')}" for name in storage.headers()}}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for look, (scheme, width) in LOOKS.items():
            context = browser.new_context(color_scheme=scheme, viewport={"width": width, "height": 900})
            for name, path in pages.items():
                page = context.new_page()
                page.on("console", lambda message, name=name: print(f"{name}: {message.text}", file=sys.stderr))
                page.on("pageerror", lambda error, name=name: print(f"{name}: {error}", file=sys.stderr))
                page.goto(f"{address}{path}#token={token}")
                page.wait_for_selector("h1")
                page.wait_for_timeout(4000)
                page.screenshot(path=folder / f"{name.replace('/', ' ')} {look}.png", full_page=True)
                page.close()
            context.close()
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
