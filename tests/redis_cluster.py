"""A real Redis Cluster for tests: three nodes of the tests' own Redis, each with a third of the slots."""

from __future__ import annotations

import time
from pathlib import Path

from redis import Redis
from tests.patience import PATIENCE
from tests.redis_server import RedisServer

_SLOTS = 16384
_NODES = 3


class RedisCluster:
    """Starts, and is killed."""

    def __init__(self, folder: Path) -> None:
        self._nodes = [self._node(folder / str(number)) for number in range(_NODES)]
        clients = [Redis(port=node.port) for node in self._nodes]
        bounds = [_SLOTS * number // _NODES for number in range(_NODES + 1)]
        for number, client in enumerate(clients):
            slots = range(bounds[number], bounds[number + 1])
            client.execute_command("CLUSTER", "ADDSLOTS", *slots)
            client.execute_command("CLUSTER", "MEET", "127.0.0.1", self._nodes[0].port)
        until = time.monotonic() + PATIENCE
        while not all(_is_whole(client) for client in clients):
            assert time.monotonic() < until, "the nodes do not find each other"
            time.sleep(0.05)  # between two looks
        for client in clients:
            client.close()

    def _node(self, folder: Path) -> RedisServer:
        folder.mkdir()
        return RedisServer(folder, {"cluster-enabled": "yes"})

    @property
    def url(self) -> str:
        """A node of it."""
        return f"redis+cluster://127.0.0.1:{self._nodes[0].port}/0"

    def kill(self) -> None:
        """Kill every node."""
        for node in self._nodes:
            node.kill()


def _is_whole(client: Redis) -> bool:
    told = client.cluster("INFO")
    return told["cluster_state"] == "ok" and int(told["cluster_known_nodes"]) == _NODES
