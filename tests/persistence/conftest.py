"""The savers that a deployment may keep its threads in."""

import os
from collections.abc import Iterator

import pytest

from tests.fakes.postgres import PostgresServer, programs


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the PostgreSQL tests out where no server is installed, but never in CI."""
    if programs() is not None or os.environ.get("CI"):
        return
    without = [item for item in items if item.get_closest_marker("postgres") is not None]
    if without:
        config.hook.pytest_deselected(items=without)
        items[:] = [item for item in items if item not in without]


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The address of a server that lives as long as the tests."""
    with PostgresServer() as server:
        yield server.url
