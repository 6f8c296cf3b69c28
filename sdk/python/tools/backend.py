"""The build backend of the package: pip calls it to make a wheel, an editable install or an sdist.

It needs nothing but Python, so `pip install --no-index` works in an empty environment. What it makes depends on the
content of the files alone: the same source gives the same bytes with the same zlib.
"""

import base64
import gzip
import hashlib
import io
import re
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

TOP = Path(__file__).parents[1]
SOURCE = TOP / "src"
#: Files of an sdist besides those of the package.
BESIDE = ("README.md", "pyproject.toml", "tools/backend.py")
#: The time of all files: the first that an archive of zip can have, which is 1980-01-01.
MOMENT = (1980, 1, 1, 0, 0, 0)
MOMENT_SECONDS = 315532800


def build_wheel(
    wheel_directory: str, config_settings: dict[str, Any] | None = None, metadata_directory: str | None = None,
) -> str:
    """Makes a wheel, and returns its name."""
    return _wheel(wheel_directory, {str(f.relative_to(SOURCE)): f.read_bytes() for f in _package()})


def build_editable(
    wheel_directory: str, config_settings: dict[str, Any] | None = None, metadata_directory: str | None = None,
) -> str:
    """Makes a wheel that has Python import the package from this folder, and returns its name."""
    return _wheel(wheel_directory, {"signalbox-editable.pth": f"{SOURCE}\n".encode()})


def build_sdist(sdist_directory: str, config_settings: dict[str, Any] | None = None) -> str:
    """Makes an sdist, and returns its name."""
    top = f"signalbox-{_version()}"
    files = {name: (TOP / name).read_bytes() for name in BESIDE}
    files |= {str(f.relative_to(TOP)): f.read_bytes() for f in _package()}
    files["PKG-INFO"] = _metadata()
    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, content in sorted(files.items()):
            info = tarfile.TarInfo(f"{top}/{name}")
            info.size, info.mtime, info.mode = len(content), MOMENT_SECONDS, 0o644
            archive.addfile(info, io.BytesIO(content))
    (Path(sdist_directory) / f"{top}.tar.gz").write_bytes(gzip.compress(tar.getvalue(), mtime=0))
    return f"{top}.tar.gz"


def _wheel(folder: str, files: dict[str, bytes]) -> str:
    version = _version()
    about = f"signalbox-{version}.dist-info"
    files |= {
        f"{about}/METADATA": _metadata(),
        f"{about}/WHEEL": b"Wheel-Version: 1.0\nGenerator: signalbox\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{name},sha256={_digest(content)},{len(content)}\n" for name, content in sorted(files.items()))
    files[f"{about}/RECORD"] = f"{record}{about}/RECORD,,\n".encode()
    name = f"signalbox-{version}-py3-none-any.whl"
    with zipfile.ZipFile(Path(folder) / name, "w") as archive:
        for path, content in files.items():
            info = zipfile.ZipInfo(path, MOMENT)
            info.compress_type, info.external_attr, info.create_system = zipfile.ZIP_DEFLATED, 0o100644 << 16, 3
            archive.writestr(info, content)
    return name


def _package() -> Iterator[Path]:
    """The files of the package, in order."""
    return (f for f in sorted(SOURCE.rglob("*")) if f.suffix == ".py" or f.name == "py.typed")


def _digest(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


def _version() -> str:
    found = re.search(r'^VERSION = "([^"]+)"', (SOURCE / "signalbox" / "_version.py").read_text("utf-8"), re.M)
    assert found is not None
    return found[1]


def _metadata() -> bytes:
    """What pip and package indexes know of the package, from pyproject.toml."""
    project = tomllib.loads((TOP / "pyproject.toml").read_text("utf-8"))["project"]
    lines = [
        "Metadata-Version: 2.1", f"Name: {project['name']}", f"Version: {_version()}",
        f"Summary: {project['description']}", f"Keywords: {','.join(project['keywords'])}",
        f"License: {project['license']['text']}", *(f"Classifier: {c}" for c in project["classifiers"]),
        f"Requires-Python: {project['requires-python']}", *(f"Requires-Dist: {d}" for d in project["dependencies"]),
        "Description-Content-Type: text/markdown", "", (TOP / project["readme"]).read_text("utf-8"),
    ]
    return "\n".join(lines).encode()
