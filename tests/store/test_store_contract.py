import asyncio

import pytest

from openagent.plugins.store import Store
from openagent.store import open_store
from tests.store.store_contract import OpenStore, StoreContract


def _opener(url: str) -> OpenStore:
    async def open_at_url() -> Store:
        return await asyncio.to_thread(open_store, url)

    return open_at_url


class TestSqliteStore(StoreContract):
    @pytest.fixture
    def open_store(self, sqlite_url: str) -> OpenStore:
        return _opener(sqlite_url)


class TestPostgresStore(StoreContract):
    @pytest.fixture
    def open_store(self, postgres_url: str) -> OpenStore:
        return _opener(postgres_url)
