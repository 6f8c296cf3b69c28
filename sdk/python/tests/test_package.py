"""The package as others get it: built, installed where nothing else is, and typed; and the programs of its page."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import venv
from pathlib import Path
from typing import Any

import signalbox.sync
from hosts import TOP, Hosts

PACKAGE = Path(__file__).parents[1]
PAGE = TOP / "docs" / "python.md"


def run(*command: str, **options: object) -> str:
    """Runs a program that must succeed, and returns what it printed."""
    plainly: Any = subprocess.run
    found = plainly(command, capture_output=True, text=True, check=False, **options)
    if found.returncode:
        raise AssertionError(f"{' '.join(command)}: {found.returncode}\n{found.stdout}\n{found.stderr}")
    return str(found.stdout)


class Package(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def needs(self, *modules: str) -> None:
        for module in modules:
            if importlib.util.find_spec(module) is None:
                self.skipTest(f"there is no {module} for {sys.executable}: it is a package of Debian")

    def test_everything_is_typed(self) -> None:
        self.needs("mypy")
        run(sys.executable, "-m", "mypy", "--cache-dir", str(self.folder), cwd=PACKAGE)

    def test_a_wheel_and_an_sdist_are_built_and_installed(self) -> None:
        self.needs("build", "setuptools", "wheel", "ensurepip")
        source = self.folder / "source"
        shutil.copytree(PACKAGE, source, ignore=shutil.ignore_patterns("__pycache__", ".mypy_cache", "*.egg-info"))
        # Nothing is fetched: setuptools and wheel are those of the system.
        run(sys.executable, "-m", "build", "--no-isolation", "--outdir", str(self.folder / "dist"), str(source))
        built = sorted(p.name for p in (self.folder / "dist").iterdir())
        self.assertEqual([re.sub(r"\d+\.\d+\.\d+", "V", name) for name in built],
                         ["signalbox-V-py3-none-any.whl", "signalbox-V.tar.gz"])
        for name in built:
            with self.subTest(name):
                place = self.folder / f"of-{name}"
                sdist = name.endswith(".gz")
                # An sdist is built again where it is installed, by what the system has.
                venv.create(place, with_pip=True, system_site_packages=sdist)
                python = str(place / "bin" / "python")
                environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
                run(python, "-m", "pip", "install", "--no-index", "--no-deps", "--no-build-isolation", "--quiet",
                    str(self.folder / "dist" / name), env=environment)
                said = run(python, "-c", "import signalbox, signalbox.sync, signalbox.sync.recipes, os\n"
                           "from signalbox import config, discovery, election, limiter, process, rollout\n"
                           "print(os.path.exists(os.path.join(os.path.dirname(signalbox.__file__), 'py.typed')))\n"
                           "print(signalbox.__file__)", env=environment, cwd=self.folder)
                self.assertEqual(said.split()[0], "True")
                self.assertIn(str(place), said)
                listed = run(python, "-m", "pip", "show", "signalbox", env=environment)
                self.assertIn("\nRequires: \n", listed, "there is no dependency at run time")

    def test_every_public_name_has_a_docstring(self) -> None:
        script = """
import importlib, inspect, pkgutil, signalbox
for m in ["signalbox"] + [x.name for x in pkgutil.walk_packages(signalbox.__path__, "signalbox.")]:
    if any(part.startswith("_") for part in m.split(".")):
        continue
    module = importlib.import_module(m)
    assert module.__doc__, m
    for name in getattr(module, "__all__", dir(module)):
        thing = getattr(module, name)
        if name.startswith("_") or not (inspect.isclass(thing) or inspect.isfunction(thing)):
            continue
        if not thing.__module__.startswith("signalbox"):
            continue
        if not thing.__doc__:
            print(m, name)
        if inspect.isclass(thing) and not issubclass(thing, Exception):
            for n, f in vars(thing).items():
                f = f.fget if isinstance(f, property) else f.__func__ if isinstance(f, staticmethod) else f
                if not n.startswith("_") and inspect.isfunction(f) and not f.__doc__:
                    print(m, name, n)
"""
        said = run(sys.executable, "-c", script, env=os.environ | {"PYTHONPATH": str(PACKAGE / "src")})
        self.assertEqual(said, "")


def blocks() -> dict[str, str]:
    """The programs of the page, by name."""
    found = re.findall(r"^```python (\w+)\n(.*?)^```", PAGE.read_text(encoding="utf-8"), flags=re.M | re.S)
    assert len(found) == len(re.findall(r"^```python", PAGE.read_text(encoding="utf-8"), flags=re.M)), "one has no name"
    return dict(found)


#: How programs that are functions are called, with a client `c` and sessions `s` and `t` of the node /demo.
CALLS = {
    "lock": ("await nightly(s)", r"mine, with fence \d+"),
    "semaphore": ("await slots(s)", r"3 2 b'host=worker-1.internal:8080' \[b'worker-1'\] 0"),
    "limiter": ("await export_all(c, ['a', 'b'])", r"[ab] \d+\n[ab] \d+"),
    "election": ("a = asyncio.create_task(replica(s)); b = asyncio.create_task(follow(c)); await asyncio.sleep(1); "
                 "a.cancel(); b.cancel()", r"[\s\S]*I lead, with fence \d+[\s\S]*b'10.0.0.7:8080'[\s\S]*"),
    "discovery": ("await serve(s, c)", r"\[\('10.0.0.7:8080', \{'zone': 'a'\}\)\]"),
    "config": ("await settings(c)", r"b'\{\"workers\": 9\}'"),
    "watch": ("await s.semaphore('workers', limit=3).create(); await look(c, s)", r"True b'' \[\]\n\d+ True"),
    "process": ("await member(s)", r"b'7'"),
    "rollout": ("""
    import subprocess
    tool = [os.environ['SIGNALBOX'], 'rollout']
    at = ['--endpoints', os.environ['ADDRESS']]
    subprocess.run([*tool, 'create', '/demo', 'web', '--location', 'canary', *at], check=True, capture_output=True)
    subprocess.run([*tool, 'publish', '/demo', 'web', 'x', *at], check=True, capture_output=True)
    a = asyncio.create_task(instance(s)); await asyncio.sleep(1); a.cancel()""", r"uses version 1"),
}


class Page(unittest.TestCase):
    """The programs of docs/python.md: all are typed; all but that of TLS run, which is tested beside its host."""

    def test_programs_of_the_page_are_typed(self) -> None:
        if importlib.util.find_spec("mypy") is None:
            self.skipTest("there is no mypy")
        with tempfile.TemporaryDirectory() as folder:
            names = []
            for name, text in blocks().items():
                names.append(f"{name}_of_the_page.py")
                (Path(folder) / names[-1]).write_text(text)
            run(sys.executable, "-m", "mypy", "--strict", "--cache-dir", f"{folder}/cache", *names, cwd=folder,
                env=os.environ | {"MYPYPATH": str(PACKAGE / "src")})

    def test_programs_of_the_page_run(self) -> None:
        known = blocks()
        self.assertEqual(set(known), set(CALLS) | {"start", "sync", "tls"})
        hosts = Hosts()
        self.addCleanup(hosts.stop)
        for name, text in known.items():
            if name == "tls":
                continue
            with self.subTest(name):
                program = text.replace("127.0.0.1:7420", hosts.addresses[0])
                call, wanted = CALLS.get(name, ("", r"mine, with fence \d+"))
                if call:
                    program += f"""
import asyncio, os
async def of_the_test():
  async with signalbox.connect(os.environ['ADDRESS']) as c:
    await c.create_node("/demo")
    async with c.session("/demo") as s:
     async with asyncio.timeout(20):
      if True:
    {call}
asyncio.run(of_the_test())
""".replace(f"      if True:\n    {call}", "".join(
                        f"      {line.strip()}\n" for line in call.strip().splitlines()))
                said = run(sys.executable, "-W", "error", "-c", program,
                           env=os.environ | {"PYTHONPATH": str(PACKAGE / "src"), "ADDRESS": hosts.addresses[0],
                                             "SIGNALBOX": hosts.all[0].program})
                self.assertRegex(said.strip(), f"^(?:{wanted})$")
                with signalbox.sync.connect(hosts.addresses) as client:
                    client.drop_node("/demo")


if __name__ == "__main__":
    unittest.main()
