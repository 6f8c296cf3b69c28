"""The package as others get it: built, installed where nothing else is, and typed; and the programs of its page."""

import ast
import functools
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

#: The environment of programs that see no package but those that are installed.
ENVIRONMENT = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}


def run(*command: str, **options: object) -> str:
    """Runs a program that must succeed, and returns what it printed."""
    plainly: Any = subprocess.run
    found = plainly(command, capture_output=True, text=True, check=False, **options)
    if found.returncode:
        raise AssertionError(f"{' '.join(command)}: {found.returncode}\n{found.stdout}\n{found.stderr}")
    return str(found.stdout)


@functools.cache
def empty_python() -> str:
    """The Python of an environment that has pip and nothing else."""
    place = tempfile.mkdtemp(prefix="signalbox-environment-")
    unittest.addModuleCleanup(shutil.rmtree, place)
    venv.create(place, with_pip=True)
    python = str(Path(place) / "bin" / "python")
    run(python, "-m", "pip", "uninstall", "--yes", "--quiet", "setuptools", "wheel", env=ENVIRONMENT)
    return python


def imports_of(package: Path) -> dict[str, set[str]]:
    """By module of a package: the modules of the package that it imports anywhere, be it for its types alone."""
    files = {".".join(f.relative_to(package.parent).with_suffix("").parts).removesuffix(".__init__"): f
             for f in package.rglob("*.py")}
    found: dict[str, set[str]] = {}
    for name, file in files.items():
        named = found[name] = set()
        folder = name.split(".") if file.stem == "__init__" else name.split(".")[:-1]
        for statement in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(statement, ast.Import):
                named |= {a.name for a in statement.names}
            elif isinstance(statement, ast.ImportFrom):
                within = folder[:len(folder) - statement.level + 1] if statement.level else []
                source = ".".join([*within, *([statement.module] if statement.module else [])])
                named |= {n if (n := f"{source}.{a.name}") in files else source for a in statement.names}
        named.intersection_update(files)
    return found


def circles(imports: dict[str, set[str]]) -> list[list[str]]:
    """The groups of modules that all reach each other by imports."""
    reached: dict[str, set[str]] = {}
    for module in imports:
        seen, left = set[str](), [module]
        while left:
            left += imports[left.pop()] - seen
            seen |= set(left)
        reached[module] = seen
    groups = {frozenset(n for n in seen if module in reached[n]) for module, seen in reached.items() if module in seen}
    return sorted(sorted(group) for group in groups)


class Imports(unittest.TestCase):
    def test_modules_import_each_other_in_no_circle(self) -> None:
        imports = imports_of(PACKAGE / "src" / "signalbox")
        self.assertIn("signalbox._wire", imports["signalbox._conn"])
        self.assertEqual(circles(imports), [], "modules that import each other")

    def test_a_circle_is_named(self) -> None:
        self.assertEqual(circles({"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": set(), "e": {"a"}}), [["a", "b", "c"]])


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

    def source(self, name: str) -> Path:
        """A copy of the package, in which nothing was built."""
        return Path(shutil.copytree(PACKAGE, self.folder / name, ignore=shutil.ignore_patterns("__pycache__", ".*")))

    def installed(self, *what: str) -> str:
        """Installs the package into an environment that has nothing else, and returns from where it is imported."""
        self.needs("ensurepip")
        python = empty_python()
        run(python, "-m", "pip", "install", "--no-index", "--quiet", *what, env=ENVIRONMENT)
        said = run(python, "-c", "import signalbox, signalbox.sync, signalbox.sync.recipes, os\n"
                   "from signalbox import config, discovery, election, limiter, process, rollout\n"
                   "print(os.path.exists(os.path.join(os.path.dirname(signalbox.__file__), 'py.typed')))\n"
                   "print(signalbox.__file__)", env=ENVIRONMENT, cwd=self.folder).split()
        self.assertEqual(said[0], "True", "the package is typed")
        listed = run(python, "-m", "pip", "show", "--files", "signalbox", env=ENVIRONMENT)
        self.assertIn("\nRequires: \n", listed, "there is no dependency at run time")
        self.assertIn(f"\nVersion: {signalbox.__version__}\n", listed)
        run(python, "-m", "pip", "check", env=ENVIRONMENT)
        run(python, "-m", "pip", "uninstall", "--yes", "--quiet", "signalbox", env=ENVIRONMENT)
        return said[1]

    def test_pip_installs_a_copy_of_the_source_in_an_empty_environment(self) -> None:
        source = self.source("source")
        before = sorted(source.rglob("*"))
        self.assertIn("signalbox-environment-", self.installed(str(source)))
        self.assertTrue(self.installed("--editable", str(source)).startswith(str(source)))
        left = {p.name for p in set(source.rglob("*")) - set(before)} - {"__pycache__"}
        self.assertEqual({n for n in left if not n.endswith(".pyc")}, set(), "nothing is left in the source")

    def test_a_wheel_and_an_sdist_are_built_alike_and_installed(self) -> None:
        built = dict[str, bytes]()
        for name in ("one", "two"):
            source, dist = self.source(name), self.folder / f"dist-{name}"
            dist.mkdir()
            for file in source.rglob("*"):
                os.utime(file, (1e9 + len(built), 1e9))
            run(sys.executable, "-c", "import sys, backend; backend.build_wheel(sys.argv[1]); "
                "backend.build_sdist(sys.argv[1])", str(dist), env=os.environ | {"PYTHONPATH": str(source / "tools")})
            made = {p.name: p.read_bytes() for p in dist.iterdir()}
            self.assertEqual(made, built or made, "the same source gives the same bytes")
            built = made
        version = signalbox.__version__
        self.assertEqual(sorted(built), [f"signalbox-{version}-py3-none-any.whl", f"signalbox-{version}.tar.gz"])
        for name in built:
            with self.subTest(name):
                self.assertIn("signalbox-environment-", self.installed(str(dist / name)))

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
    "blocked": ("await compute(os.environ['ADDRESS'])", r"still mine, with fence \d+"),
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
