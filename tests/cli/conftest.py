"""A server that starts commands quickly, for all tests of the command line."""

from __future__ import annotations

import pytest
from command_server import Server
from commands import ENVIRONMENT


@pytest.fixture(scope="session")
def server():
    server = Server(ENVIRONMENT)
    yield server
    server.close()


@pytest.fixture
def run(server):
    """Run a command in a process of its own, forked from one that has the library loaded."""
    return server.run
