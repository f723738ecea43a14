import pytest


@pytest.fixture(scope="session")
def iris():
    return pytest.importorskip("sklearn.datasets").load_iris(return_X_y=True)
