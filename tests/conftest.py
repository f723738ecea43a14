"""What all tests share."""

import pytest


def pytest_collection_modifyitems(items):
    # About one in three hundred tests that read what a command printed finds nothing: pytest's capsys was not
    # in force although the command did print (the report shows it). The cause is not known; nothing in this
    # package replaces sys.stdout. Only such tests are tried again, and a rerun shows as R.
    for item in items:
        if "capsys" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.flaky(reruns=2))
