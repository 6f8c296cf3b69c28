"""Real hosts on loopback, for tests: the program that the Makefile builds, one process a host."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

TOP = Path(__file__).parents[3]


def program() -> str:
    """The program, which `make python` names; tests of real hosts are skipped where there is none."""
    path = os.environ.get("SIGNALBOX", str(TOP / "bin" / "signalbox"))
    if not os.access(path, os.X_OK):
        raise unittest.SkipTest(f"there is no program at {path}: `make python` builds one")
    return path


def free_ports(n: int) -> list[int]:
    """Ports of loopback that are free now."""
    sockets = [socket.socket() for _ in range(n)]
    try:
        for s in sockets:
            s.bind(("127.0.0.1", 0))
        return [s.getsockname()[1] for s in sockets]
    finally:
        for s in sockets:
            s.close()


class Host:
    """One host: its process, where it listens, its data."""

    def __init__(self, folder: Path, name: str, port: int, arguments: list[str], environment: dict[str, str]) -> None:
        self.name, self.address = name, f"127.0.0.1:{port}"
        clean = {k: v for k, v in os.environ.items() if not k.startswith("SIGNALBOX_")}
        self._environment = clean | environment
        self.program = program()
        self._command = [self.program, "serve", "--data-dir", str(folder / name), "--listen", self.address,
                         "--admin-listen", "off", "--http-listen", "off", *arguments]
        self._log = folder / f"{name}.log"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(self._command, stdout=log, stderr=log, env=self._environment)

    def await_ready(self, times: int = 1) -> None:
        deadline = time.monotonic() + 60
        while self._log.read_bytes().count(b"signalbox is ready") < times:
            assert self.process is not None
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise AssertionError(f"host {self.name} does not start:\n{self._log.read_text()}")
            time.sleep(0.02)

    def kill(self, how: signal.Signals = signal.SIGKILL) -> None:
        if self.process is not None:
            self.process.send_signal(how)
            self.process.wait()
            self.process = None

    def pause(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGCONT)


class Hosts:
    """A cluster of one host, or of three."""

    def __init__(self, n: int = 1, arguments: list[str] | None = None) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="signalbox-python-"))
        ports = free_ports(2 * n)
        names = "abc"[:n]
        members = ",".join(f"{name}=127.0.0.1:{ports[n + i]}" for i, name in enumerate(names))
        self.all = [
            Host(self.folder, name, ports[i], list(arguments or []),
                 {"SIGNALBOX_INITIAL_HOSTS": members, "SIGNALBOX_NAME": name} if n > 1 else {})
            for i, name in enumerate(names)
        ]
        try:
            for h in self.all:
                h.start()
            for h in self.all:
                h.await_ready()
        except BaseException:
            self.stop()
            raise

    @property
    def addresses(self) -> list[str]:
        return [h.address for h in self.all]

    def stop(self) -> None:
        for h in self.all:
            h.kill()
        shutil.rmtree(self.folder, ignore_errors=True)
