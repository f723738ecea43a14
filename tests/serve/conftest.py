"""What tests of the page share: a storage with studies, and clients that know the token or do not."""

import pytest
from starlette.testclient import TestClient

import mfbandit as mf
from mfbandit.serve import app
from mfbandit.storage import MemoryStorage

TOKEN = "a token for tests only"
HERE = "http://127.0.0.1:8321"


@pytest.fixture
def problem():
    return mf.Problem(["good", "poor"], [("quick", 1.0, 0.05), ("exact", 5.0)], reward="bernoulli")


@pytest.fixture
def storage(problem):
    found = MemoryStorage()
    mf.create_study(problem, storage=found, name="mine", max_cost=200, width=4)
    return found


@pytest.fixture
def make_client(storage):
    """Make a client of a page; what it is given is for `app`."""

    def make(headers=None, base_url=HERE, where=None, **settings):
        page = app(where or storage, **{"token": TOKEN, **settings})
        return TestClient(page, base_url=base_url, headers=headers or {}, raise_server_exceptions=False)

    return make


@pytest.fixture
def anybody(make_client):
    """Somebody without the token."""
    return make_client()


@pytest.fixture
def worker(make_client):
    """Somebody with the token in a header."""
    return make_client({"Authorization": f"Bearer {TOKEN}"})
