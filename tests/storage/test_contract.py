from pathlib import Path

import pytest

from mfbandit.storage import MemoryStorage, Storage, open_storage
from mfbandit.testing import StorageContract


class TestMemory(StorageContract):
    @pytest.fixture(autouse=True)
    def _place(self) -> None:
        self.storage = MemoryStorage()

    def open(self) -> Storage:
        return self.storage


class TestSQLite(StorageContract):
    @pytest.fixture(autouse=True)
    def _place(self, tmp_path: Path) -> None:
        self.url = f"sqlite:///{tmp_path / 'a study.db'}"

    def open(self) -> Storage:
        return open_storage(self.url)


class TestPostgreSQL(StorageContract):
    @pytest.fixture(autouse=True)
    def _place(self, postgres_database: str) -> None:
        self.url = postgres_database

    def open(self) -> Storage:
        return open_storage(self.url)
