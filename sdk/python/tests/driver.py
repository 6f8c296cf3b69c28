"""The driver of this client for `signalbox conformance`: it reads commands from its standard input, as lines of
JSON, and
writes what comes of them to its standard output."""

import asyncio
import contextlib
import functools
import json
import os
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any

import signalbox
from signalbox import EndReason, process, rollout
from signalbox.process import Request, Result, Round

CAN = ["node", "describe", "watch", "changed", "change", "update", "ephemeral", "renew", "history",
       "rollout", "process", "list", "block", "fork"]


def say(**line: Any) -> None:
    """Writes a line. Numbers that JSON cannot hold in all languages are texts."""
    sys.stdout.write(json.dumps(line, default=str) + "\n")
    sys.stdout.flush()


def word(error: BaseException | None) -> str:
    """What an error is, in a word of the drivers."""
    if isinstance(error, signalbox.LeaseLostError) and error.reason is not None:
        error = error.reason
    match error:
        case signalbox.NotAcquiredError():
            return "NOT_ACQUIRED"
        case asyncio.CancelledError():
            return "CANCELLED"
        case signalbox.SessionLostError(reason=EndReason.CLOSED):
            return "SESSION_CLOSED"
        case signalbox.SessionLostError() | signalbox.BadSessionError():
            return "SESSION_EXPIRED"
        case signalbox.AbortedError(reason=reason):
            return "ABORTED" if reason.name in ("UNKNOWN", "NODE_DROPPED") else reason.name
        case signalbox.LeaseLostError() | signalbox.NotHeldError():
            return "LEASE_LOST" if isinstance(error, signalbox.LeaseLostError) else "RELEASED"
        case signalbox.UnknownOutcomeError():
            return "UNKNOWN_OUTCOME"
        case signalbox.ForkedProcessError():
            return "FORKED"
        case signalbox.ClosedError():
            return "CLOSED"
        case signalbox.SignalboxError() if error.status:
            with contextlib.suppress(ValueError):
                return signalbox.Status(error.status).name
    return "FAILED"


def number(value: Any) -> int:
    return int(value or 0)


def owners(listed: Any) -> list[dict[str, Any]]:
    return [{"order_id": str(o.order_id), "session_id": str(o.session_id), "count": str(o.count),
             "data": o.data.decode()} for o in listed]


class Handler(process.Handler):
    """A member that does what docs/conformance.md says."""

    def __init__(self, id: str, data: str) -> None:
        self.id, self.data = id, data

    def called(self, kind: str, round: Round, **more: str) -> None:
        say(event="call", member=self.id, kind=kind, epoch=str(round.epoch), **more)

    async def prepare(self, round: Round) -> None:
        self.called("prepare", round)

    async def coordinate(self, round: Round) -> bytes:
        self.called("coordinate", round)
        return b",".join(r.payload for r in await round.broadcast(self.data.encode()))

    async def request(self, round: Round, request: Request) -> bytes:
        self.called("request", round, **{"from": str(request.sender), "data": request.payload.decode()})
        return b"re:" + request.payload

    async def complete(self, round: Round, result: Result) -> None:
        self.called("complete", round, data=result.payload.decode())

    async def cancel(self, round: Round) -> None:
        self.called("cancel", round)

    async def terminate(self) -> None:
        say(event="call", member=self.id, kind="terminate")


class Driver:
    """A client, and what was made with it, by the ids of the commands."""

    def __init__(self) -> None:
        self.connected: asyncio.Future[signalbox.Client]
        self.sessions: dict[str, signalbox.Session] = {}
        self.leases: dict[str, signalbox.Lease] = {}
        self.followed: set[signalbox.Lease] = set()
        self.calls: dict[str, asyncio.Task[None]] = {}
        self.instances: dict[str, rollout.Member] = {}
        self.targets: dict[str, rollout.Target] = {}
        self.members: dict[str, process.Member] = {}
        self.watches: dict[str, tuple[signalbox.Watch, asyncio.Task[None]]] = {}
        self.background: set[asyncio.Task[None]] = set()

    async def run(self, c: dict[str, Any]) -> None:
        """Carries a command out and replies."""
        try:
            act: Callable[[dict[str, Any]], Awaitable[dict[str, Any] | None]] | None
            act = getattr(self, "do_" + c["do"], None)
            if act is None:
                say(id=c["id"], error="UNSUPPORTED", message=c["do"])
                return
            reply = await act(c) or {}
        except (Exception, asyncio.CancelledError) as e:
            say(id=c["id"], error=word(e), message=f"{type(e).__name__}: {e}")
        else:
            say(id=c["id"], ok=True, **reply)

    def watch_for(self, work: Any) -> asyncio.Task[None]:
        task: asyncio.Task[None] = asyncio.ensure_future(work)
        self.background.add(task)
        task.add_done_callback(self.background.discard)
        return task

    async def do_connect(self, c: dict[str, Any]) -> None:
        routes: dict[str, str] = c.get("routes") or {}
        if routes:
            loop = asyncio.get_running_loop()
            plainly = loop.create_connection

            def routed(factory: Any, host: str, port: int, **options: Any) -> Any:
                there, _, at = routes.get(f"{host}:{port}", f"{host}:{port}").rpartition(":")
                return plainly(factory, there, int(at), **options)

            setattr(loop, "create_connection", routed)
        self.connected = asyncio.ensure_future(signalbox.connect(c["addresses"], c.get("token")).open())
        await asyncio.wait({self.connected})
        self.connected.result()

    @property
    async def client(self) -> signalbox.Client:
        return await asyncio.shield(self.connected)

    async def do_session(self, c: dict[str, Any]) -> dict[str, Any]:
        def changed(state: signalbox.State) -> None:
            name = {"expired": "ended", "closed": "ended"}.get(state.value, state.value)
            over = s.error if name == "ended" else None
            said = {}
            if isinstance(over, signalbox.SessionLostError):
                said = {"why": word(over), "end": over.reason.name.lower()}
            say(event="state", session=c["id"], state=name, **said)

        s = (await self.client).session(c["path"], number(c.get("timeout_ms")) / 1000, renew=bool(c.get("renew")),
                                on_state=changed)
        self.sessions[c["id"]] = s
        await s.open()
        return {"session_id": str(s.id)}

    async def do_close(self, c: dict[str, Any]) -> None:
        await self.sessions[c["session"]].close()

    def semaphore(self, c: dict[str, Any]) -> signalbox.Semaphore:
        s = self.sessions[c["session"]]
        return s.ephemeral(c["name"]) if c.get("ephemeral") else s.semaphore(c["name"], create=False)

    async def do_acquire(self, c: dict[str, Any]) -> dict[str, Any]:
        wait = number(c["wait_ms"]) / 1000 if "wait_ms" in c else None
        lease = await self.semaphore(c).acquire(
            number(c.get("count", 1)), wait, data=c.get("data", "").encode(),
            on_queued=lambda order: say(event="queued", call=c["id"], order_id=str(order)))
        if lease not in self.followed:
            self.followed.add(lease)
            self.watch_for(self._lost(c["id"], lease))
        self.leases[c["id"]] = lease
        return {"fence": str(lease.fence), "count": str(lease.count)}

    async def _lost(self, id: str, lease: signalbox.Lease) -> None:
        with contextlib.suppress(signalbox.NotHeldError):
            say(event="lost", lease=id, why=word(signalbox.LeaseLostError("", await lease.lost)))

    async def do_change(self, c: dict[str, Any]) -> dict[str, Any]:
        lease = self.leases[c["lease"]]
        await lease.change(count=number(c["count"]))
        return {"count": str(lease.count)}

    async def do_release(self, c: dict[str, Any]) -> dict[str, Any] | None:
        if "lease" not in c:
            return {"released": await self.semaphore(c).release()}
        await self.leases[c["lease"]].release()
        return None

    async def do_lease(self, c: dict[str, Any]) -> dict[str, Any]:
        try:
            self.leases[c["lease"]].check()
        except signalbox.SignalboxError as e:
            return {"held": False, "why": word(e)}
        return {"held": True}

    async def do_state(self, c: dict[str, Any]) -> dict[str, Any]:
        state = self.sessions[c["session"]].state.value
        return {"state": {"expired": "ended", "closed": "ended", "new": "detached"}.get(state, state)}

    async def do_create(self, c: dict[str, Any]) -> None:
        limit, data = number(c.get("limit")), c.get("data", "").encode()
        if "session" in c:
            await self.semaphore(c).create(limit, data)
        else:
            await (await self.client).node(c["path"]).create(c["name"], limit, data)

    async def do_update(self, c: dict[str, Any]) -> None:
        data = c.get("data", "").encode()
        if "lease" in c:
            await self.leases[c["lease"]].update(data)
        elif "session" in c:
            await self.semaphore(c).update(data, if_revision=number(c.get("revision")))
        else:
            await (await self.client).node(c["path"]).update(c["name"], data)

    async def do_delete(self, c: dict[str, Any]) -> None:
        if "session" in c:
            await self.semaphore(c).delete(force=bool(c.get("force")))
        else:
            await (await self.client).node(c["path"]).delete(c["name"], force=bool(c.get("force")))

    async def do_node(self, c: dict[str, Any]) -> dict[str, Any]:
        return {"existed": (await (await self.client).create_node(c["path"])).existed}

    async def do_drop(self, c: dict[str, Any]) -> None:
        await (await self.client).drop_node(c["path"])

    async def do_list(self, c: dict[str, Any]) -> dict[str, Any]:
        return {"names": [s.name async for s in (await self.client).node(c["path"]).semaphores()]}

    async def do_describe(self, c: dict[str, Any]) -> dict[str, Any]:
        if "session" in c:
            return self.described(await self.semaphore(c).describe(consistency=self.consistency(c)))
        node = (await self.client).node(c["path"])
        return self.described(await node.describe(c["name"], consistency=self.consistency(c)))

    @staticmethod
    def consistency(c: dict[str, Any]) -> signalbox.Consistency:
        return signalbox.Consistency.STRICT if c.get("strict") else signalbox.Consistency.DEFAULT

    @staticmethod
    def described(d: signalbox.SemaphoreInfo) -> dict[str, Any]:
        return {"limit": str(d.limit), "count": str(d.count), "revision": str(d.revision), "data": d.data.decode(),
                "owners": owners(d.owners), "waiters": owners(d.waiters)}

    async def do_changed(self, c: dict[str, Any]) -> dict[str, Any]:
        found, changed = await self.semaphore(c).describe_and_watch(
            waiters=True, consistency=self.consistency(c))

        async def report() -> None:
            change = await changed
            say(event="changed", watch=c["id"], data=change.data, owners=change.owners)

        self.watch_for(report())
        return self.described(found)

    async def do_watch(self, c: dict[str, Any]) -> None:
        watch = (await self.client).node(c["path"]).watch(c["name"])

        async def views() -> None:
            try:
                async for v in watch:
                    say(event="view", watch=c["id"], exists=v.exists, revision=str(v.revision), limit=str(v.limit),
                        data=v.data.decode(), owners=owners(v.owners))
            except signalbox.SignalboxError as e:
                say(event="watch_end", watch=c["id"], why=word(e))

        self.watches[c["id"]] = watch, self.watch_for(views())

    async def do_unwatch(self, c: dict[str, Any]) -> None:
        watch, task = self.watches.pop(c["watch"])
        task.cancel()
        watch.close()

    async def do_instance(self, c: dict[str, Any]) -> None:
        member = self.instances[c["id"]] = rollout.join(self.sessions[c["session"]], c["name"], c["instance"],
                                                        c["location"])
        await member.open()

        async def follow() -> None:
            async for t in member.targets():
                self.targets[c["id"]] = t
                say(event="target", instance=c["id"], generation=str(t.generation), seq=str(t.seq), label=t.label,
                    data=t.payload.decode(), attempt=t.attempt)

        self.watch_for(follow())

    async def do_reach(self, c: dict[str, Any]) -> None:
        await self.instances[c["instance"]].reached(self.targets[c["instance"]])

    async def do_fail(self, c: dict[str, Any]) -> None:
        await self.instances[c["instance"]].failed(self.targets[c["instance"]], c["text"], c.get("code", ""))

    async def do_member(self, c: dict[str, Any]) -> None:
        member = self.members[c["id"]] = process.join(self.sessions[c["session"]], c["name"],
                                                      Handler(c["id"], c.get("data", "")), member=c["member"])
        await member.open()

    async def do_leave(self, c: dict[str, Any]) -> None:
        if "instance" in c:
            await self.instances[c["instance"]].leave()
        else:
            await self.members[c["member"]].leave()

    async def do_block(self, c: dict[str, Any]) -> None:
        time.sleep(number(c["ms"]) / 1000)  # noqa: ASYNC251: the event loop is blocked

    async def do_fork(self, c: dict[str, Any]) -> dict[str, Any]:
        """In the child each call refuses at its first step, so that it needs no event loop."""
        session, lease, client = self.sessions[c["session"]], self.leases[c["lease"]], await self.client

        async def check() -> None:
            lease.check()

        read, write = os.pipe()
        if not (child := os.fork()):
            found = {}
            for what, call in (("acquire", session.semaphore("other", create=False).acquire()), ("lease", check()),
                               ("session", client.session("/conform").open())):
                try:
                    call.send(None)
                except BaseException as e:
                    found[what] = word(e)
            os.write(write, json.dumps(found).encode())
            os._exit(0)
        os.close(write)
        os.waitpid(child, 0)
        with open(read, encoding="utf-8") as said:
            return dict(json.load(said))

    async def do_cancel(self, c: dict[str, Any]) -> None:
        if task := self.calls.get(c["call"]):
            task.cancel()

    def finished(self, id: str, _: object) -> None:
        self.calls.pop(id, None)

    async def stop(self) -> None:
        for task in [*self.calls.values(), *self.background]:
            if task is not asyncio.current_task():
                task.cancel()
        with contextlib.suppress(AttributeError, signalbox.SignalboxError):
            await (await self.client).close()


async def main() -> None:
    driver = Driver()
    lines = asyncio.StreamReader(limit=1 << 24)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    say(driver="python", version=signalbox.__version__, can=CAN)
    while line := await lines.readline():
        command = json.loads(line)
        if command["do"] == "stop":
            await driver.stop()
            say(id=command["id"], ok=True)
            return
        task = asyncio.create_task(driver.run(command))
        driver.calls[command["id"]] = task
        task.add_done_callback(functools.partial(driver.finished, command["id"]))
    await driver.stop()


if __name__ == "__main__":
    asyncio.run(main())
