"""The page is safe by default: one test for each rule."""

import socket

import pytest
from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.testclient import TestClient

import mfbandit as mf
from mfbandit import _optional
from mfbandit.cli import main
from mfbandit.errors import InvalidInput, MissingExtra
from mfbandit.serve import app
from mfbandit.serve.web._guard import LARGEST_BODY
from mfbandit.storage import open_storage

from .conftest import HERE, TOKEN

ASK = "/api/studies/mine/ask"


def test_reading_needs_nothing_on_this_machine_and_writing_the_token(anybody, worker):
    assert anybody.get("/api/studies/mine").status_code == 200
    refused = anybody.post(ASK)
    assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")
    for wrong in ("", "Bearer", "Bearer x", f"Basic {TOKEN}", f"Bearer {TOKEN}x", "Bearer \u00e9"):
        assert anybody.post(ASK, headers={"Authorization": wrong.encode()}).status_code == 401
    assert worker.post(ASK).status_code == 200


@pytest.mark.parametrize("path", ["ask", "tell", "fail", "heartbeat", "release"])
def test_every_way_to_write_needs_it(anybody, path):
    assert anybody.post(f"/api/studies/mine/{path}", json={}).status_code == 401
    assert anybody.put(f"/api/studies/mine/{path}").status_code == 401


def test_without_a_token_nobody_writes(make_client):
    for given in ("None", "", TOKEN):
        client = make_client({"Authorization": f"Bearer {given}"}, token=None)
        assert client.post(ASK).status_code == 403
        assert client.get("/api/studies/mine").status_code == 200
        assert client.post("/api/login", json={"token": given}).status_code == 401


def test_on_another_address_reading_needs_it_too(make_client):
    client = make_client(base_url="http://192.0.2.1", reading="token")
    for path in ("/api/studies", "/api/studies/mine", "/api/studies/mine/certificate", "/api/studies/mine/verify"):
        assert client.get(path).status_code == 401
        assert client.get(path, headers={"Authorization": f"Bearer {TOKEN}"}).status_code == 200
    assert client.get("/api/me").json() == {"owner": False, "reads": False, "writable": True}


def test_another_address_is_refused_without_a_token(storage, tmp_path, problem, capsys, monkeypatch):
    monkeypatch.delenv("MFBANDIT_TOKEN", raising=False)
    mf.create_study(problem, storage=str(tmp_path / "s.db")).close()
    for host in ("0.0.0.0", "::", "192.0.2.1", "example.org"):
        assert main(["serve", str(tmp_path / "s.db"), "--host", host]) == 2
        assert f"other machines can reach host {host!r}" in capsys.readouterr().err
    with pytest.raises(InvalidInput, match="reading='token' needs a token"):
        app(storage, reading="token")
    with pytest.raises(InvalidInput, match="at least 16"):
        app(storage, token="short")


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8321", "127.0.0.1.evil.example", "", "[", "localhost@evil"]
)
def test_names_that_are_made_to_lead_here_get_nothing(worker, host):
    assert worker.get("/api/studies/mine", headers={"Host": host}).status_code == 421
    assert worker.post(ASK, headers={"Host": host}).status_code == 421


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost:1", "[::1]:8321", "LOCALHOST"])
def test_names_of_this_machine_are_answered(worker, host):
    assert worker.get("/api/studies/mine", headers={"Host": host}).status_code == 200


def test_the_cookie_is_the_browsers_alone_and_not_the_token(anybody):
    answer = anybody.post("/api/login", json={"token": TOKEN}, headers={"Origin": HERE})
    cookie = answer.headers["set-cookie"]
    assert {"HttpOnly", "SameSite=strict", "Path=/"} <= set(cookie.split("; "))
    assert TOKEN not in cookie
    wrong = anybody.post("/api/login", json={"token": TOKEN + "x"}, headers={"Origin": HERE})
    assert (wrong.status_code, "set-cookie" in wrong.headers) == (401, False)


def test_a_cookie_counts_only_from_the_page_itself(anybody):
    anybody.post("/api/login", json={"token": TOKEN}, headers={"Origin": HERE})
    assert anybody.get("/api/me").json()["owner"] is True
    assert anybody.post(ASK, headers={"Origin": HERE}).status_code == 200
    for origin in ("http://evil.example", "http://127.0.0.1:9999", "http://127.0.0.1", "null", "", "http://["):
        assert anybody.post(ASK, headers={"Origin": origin}).status_code == 403
    assert anybody.post(ASK).status_code == 403  # browsers always say where they come from
    assert (
        anybody.post("/api/login", json={"token": TOKEN}, headers={"Origin": "http://evil.example"}).status_code == 403
    )


def test_a_foreign_page_cannot_use_a_token_either(worker):
    assert worker.post(ASK, headers={"Origin": "http://evil.example"}).status_code == 403
    assert worker.post(ASK, headers={"Sec-Fetch-Site": "cross-site"}).status_code == 403


def test_a_foreign_page_cannot_keep_the_server_busy(anybody):
    for site in ("cross-site", "same-site"):  # another port of this machine is the same site
        assert anybody.get("/api/studies/mine/verify", headers={"Sec-Fetch-Site": site}).status_code == 403
    assert anybody.get("/api/studies/mine/verify", headers={"Sec-Fetch-Site": "same-origin"}).status_code == 200
    assert anybody.get("/study/mine", headers={"Sec-Fetch-Site": "cross-site"}).status_code == 200  # a link


def test_every_answer_has_the_headers_that_keep_scripts_out(worker):
    for answer in (
        worker.get("/api/studies"),
        worker.get("/nothing"),
        worker.post("/api/studies/x/ask"),
        worker.get("/"),
    ):
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self'" in policy
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["x-frame-options"] == "DENY"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert "access-control-allow-origin" not in answer.headers


def test_what_is_mounted_in_another_server_is_as_safe(storage):
    site = Starlette(routes=[Mount("/deep/studies", app(storage, token=TOKEN))])
    client = TestClient(site, base_url=HERE)
    shell = client.get("/deep/studies/study/mine")
    assert 'src="/deep/studies/static/study.js"' in shell.text
    assert "default-src 'none'" in shell.headers["content-security-policy"]
    for path in ("static/study.js", "static/uplot/uPlot.esm.js", "look.css", "api/studies/mine"):
        assert client.get(f"/deep/studies/{path}").status_code == 200
    assert client.get("/deep/studies/static/../../conftest.py").status_code == 404
    assert client.post(f"/deep/studies{ASK}").status_code == 401
    answer = client.post("/deep/studies/api/login", json={"token": TOKEN}, headers={"Origin": HERE})
    assert "Path=/deep/studies" in answer.headers["set-cookie"].split("; ")
    assert client.post(f"/deep/studies{ASK}", headers={"Origin": HERE}).status_code == 200
    assert client.get("/deep/studies/api/studies", headers={"Host": "evil.example"}).status_code == 421


def test_sizes_are_limited(worker):
    def endless():
        for _ in range(LARGEST_BODY // 1000 + 2):
            yield b" " * 1000

    assert worker.post(ASK, content=b" " * (LARGEST_BODY + 1)).status_code == 413
    assert worker.post(ASK, content=endless()).status_code == 413
    assert worker.post(ASK, content=b"{}", headers={"Content-Length": "x"}).status_code == 413
    assert worker.post(ASK, json={"n": 1001}).status_code == 400
    assert worker.post(ASK).status_code == 200


def test_no_answer_names_a_path_of_the_server(make_client, tmp_path, problem):
    path = tmp_path / "secret place.db"
    mf.create_study(problem, storage=str(path), name="mine").close()
    store = open_storage(str(path))
    client = make_client({"Authorization": f"Bearer {TOKEN}"}, where=store)
    answers = [client.get(f"/api/studies{rest}") for rest in ("", "/mine", "/other", "/mine/certificate")]
    answers.append(client.post(ASK))
    path.unlink()  # now the storage fails, and its own sentence names the file
    broken = client.post(ASK)
    assert (broken.status_code, broken.json()["error"]) == (
        503,
        "the storage of the studies failed: the page's own log says why",
    )
    for answer in (*answers, broken):
        assert "secret" not in answer.text
        assert "secret" not in str(answer.headers)
    store.close()


def test_a_port_that_is_taken_is_one_sentence(tmp_path, problem, capsys):
    mf.create_study(problem, storage=str(tmp_path / "s.db")).close()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main(["serve", str(tmp_path / "s.db"), "--port", str(port)]) == 2
    assert f"cannot listen on '127.0.0.1', port {port}" in capsys.readouterr().err


def test_one_sentence_names_the_extra(storage, monkeypatch):
    def nothing(name):
        raise ImportError(name)

    monkeypatch.setattr(_optional.importlib, "import_module", nothing)
    with pytest.raises(MissingExtra, match=r"the page needs starlette: pip install 'mfbandit\[serve\]'"):
        app(storage)
