"""A host that says what a test wants: it answers as a host does that has all semaphores to itself, but where a test has
another answer for a kind of request."""

import asyncio
import struct
import time
from collections.abc import Callable
from typing import Any

from signalbox import _wire as wire
from signalbox._messages import MESSAGES

Answer = dict[str, Any] | int | None
Hook = Callable[["FakeConnection", dict[str, Any]], Answer]


class FakeConnection:
    """One connection of a client to the host."""

    def __init__(self, host: "FakeHost", writer: asyncio.StreamWriter) -> None:
        self.host, self.writer = host, writer

    def send(self, name: str, request: int, values: dict[str, Any] | None = None, status: int = 0) -> None:
        """Sends a message; of an answer the fields behind status and detail."""
        kind = wire.number_of(name)
        head: tuple[Any, ...] = (status, ()) if wire.is_answer(kind) else ()
        self.writer.write(wire.frame(kind, request, (*head, *wire.body(name, values or {}))))

    def close(self) -> None:
        self.writer.transport.abort()


class FakeHost:
    """The host. Hooks are functions by the name of a request: they return the fields of the answer, a status as a
    number, or None for no answer at all."""

    def __init__(self, id: int = 1) -> None:
        self.id = id
        #: All hosts of its cluster, and the one that leads all shards.
        self.cluster, self.leader = [self], self
        self.hooks: dict[str, Hook] = {}
        self.heard: list[tuple[float, str, dict[str, Any]]] = []
        self.connections: list[FakeConnection] = []
        self.hangs = False
        self.order = 1000
        self.session = 7 << 52
        self.server: asyncio.Server
        self._news = asyncio.Condition()

    async def start(self) -> str:
        self.server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self.server.sockets[0].getsockname()[1]
        return self.address

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    async def stop(self) -> None:
        self.server.close()
        for c in list(self.connections):
            c.close()
        await self.server.wait_closed()

    def hang(self) -> None:
        """From now on it answers nothing; its connections stay open, and new ones are taken."""
        self.hangs = True

    async def __aenter__(self) -> "FakeHost":
        await self.start()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.stop()

    def of(self, name: str) -> list[dict[str, Any]]:
        """What was asked of a kind."""
        return [values for _, n, values in self.heard if n == name]

    async def hears(self, name: str, times: int = 1) -> dict[str, Any]:
        """Waits until requests of a kind have come so often, and returns the last."""
        async with asyncio.timeout(10), self._news:
            await self._news.wait_for(lambda: len(self.of(name)) >= times)
        return self.of(name)[times - 1]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        c = FakeConnection(self, writer)
        self.connections.append(c)
        try:
            while True:
                size = struct.unpack(">I", await reader.readexactly(4))[0]
                raw = wire.unpack(await reader.readexactly(size))
                name = MESSAGES[raw[0]][0]
                values = wire.fields(raw) | {"request": raw[1]}
                self.heard.append((time.monotonic(), name, values))
                hook = self.hooks.get(name)
                answer = None if self.hangs else hook(c, values) if hook else self.answer(name, values)
                async with self._news:
                    self._news.notify_all()
                if answer is None:
                    continue
                answer_name = {"HELLO": "WELCOME", "PING": "PONG"}.get(name, name + "_ANSWER")
                if isinstance(answer, int):
                    c.send(answer_name, raw[1], status=answer)
                else:
                    c.send(answer_name, raw[1], answer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self.connections.remove(c)
            c.close()

    def answer(self, name: str, values: dict[str, Any]) -> Answer:
        """What a host answers that has nothing but this client."""
        match name:
            case "HELLO":
                return {"version": 1, "host_id": self.id, "cluster_id": "fake", "ping_interval_ms": 10_000,
                        "limits": {"requests_in_flight": 1024}}
            case "ROUTING":
                ids = [h.id for h in self.cluster]
                return {"version": 1, "meta_shard_id": 0,
                        "hosts": [{"id": h.id, "address": h.address, "state": 1} for h in self.cluster],
                        "shards": [{"id": i, "leader_host_id": self.leader.id, "replica_host_ids": ids}
                                   for i in (0, 1)],
                        "slots": [{"first": 0, "last": 4095, "shard_id": 1}]}
            case "SESSION_START":
                self.session += 1
                return {"session_id": self.session,
                        "lease": {"node_id": 1, "timeout_ms": values["timeout_ms"], "grace_ms": 1000}}
            case "SESSION_ATTACH":
                return {"lease": {"node_id": 1, "timeout_ms": 0, "grace_ms": 1000}}
            case "ACQUIRE":
                self.order += 1
                return {"outcome": 1, "order_id": self.order}
            case "RELEASE":
                return {"released": True}
        return {}


class FakeCluster:
    """Hosts of one cluster, of which the first leads all shards until `lead` names another one."""

    def __init__(self, n: int) -> None:
        self.hosts = [FakeHost(i + 1) for i in range(n)]
        for h in self.hosts:
            h.cluster = self.hosts
        self.term = 1
        self.lead(self.hosts[0])

    @property
    def addresses(self) -> list[str]:
        return [h.address for h in self.hosts]

    def lead(self, leader: FakeHost) -> None:
        """Another host leads: those that are asked know it, and nobody is told."""
        self.term += 1
        for h in self.hosts:
            h.leader = leader

    def announce(self) -> None:
        """All hosts tell the clients that are connected to them which host leads."""
        for h in self.hosts:
            for c in h.connections if not h.hangs else ():
                for shard in (0, 1):
                    c.send("ROUTING_CHANGED", 0, {"version": 1, "shard_id": shard, "leader_host_id": h.leader.id,
                                                  "term": self.term})

    async def __aenter__(self) -> "FakeCluster":
        for h in self.hosts:
            await h.start()
        return self

    async def __aexit__(self, *exc: object) -> None:
        for h in self.hosts:
            await h.stop()
