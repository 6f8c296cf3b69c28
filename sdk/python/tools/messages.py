"""Writes the table of messages, src/signalbox/_messages.py, from protocol/testdata/schema.json.

A test of the protocol package holds the schema to the table of operations, and tests/test_wire.py this table to the
schema. Run it at the top of the package: python3 tools/messages.py
"""

import json
import sys
import textwrap
from pathlib import Path
from typing import Any

SCHEMA = Path(__file__).parents[3] / "protocol" / "testdata" / "schema.json"
TABLE = Path(__file__).parents[1] / "src" / "signalbox" / "_messages.py"

HEAD = '''"""The messages and records of the protocol, made by tools/messages.py from the protocol's schema.

A field is written as name:type. The types are u for uint, t for text, b for bytes, o for bool, the name of a record,
and any of these behind a star for a list. The fields of a message are those behind its kind and request id, and in an
answer behind status and detail too.
"""

'''
TYPES = {"uint": "u", "text": "t", "bytes": "b", "bool": "o"}


def type_of(field: dict[str, Any]) -> str:
    """The short form of a field's type."""
    star, what = "", field["type"]
    if what == "list":
        star, what = "*", field["of"]
    if what == "record":
        what = field["record"]
    return star + TYPES.get(what, what)


def fields_of(fields: list[dict[str, Any]], first: int) -> str:
    """The fields of a message or a record, which begin at a position."""
    own = [f for f in fields if f["index"] >= first]
    assert [f["index"] for f in own] == list(range(first, first + len(own))), fields
    return " ".join(f"{f['name']}:{type_of(f)}" for f in own)


def read(schema: dict[str, Any]) -> tuple[dict[int, tuple[str, str]], dict[str, str]]:
    """The messages by kind, and the records by name."""
    messages = {
        m["kind"]: (m["name"], fields_of(m.get("fields") or [], 4 if m["type"] == "answer" else 2))
        for m in schema["messages"]
    }
    records = {name: fields_of(fields, 0) for name, fields in schema["records"].items()}
    return dict(sorted(messages.items())), dict(sorted(records.items()))


def quoted(text: str, indent: str) -> str:
    """A text as one literal, or as several where it is too long for a line."""
    parts = textwrap.wrap(text, 80, break_on_hyphens=False) or [""]
    if len(parts) == 1:
        return f'"{parts[0]}"'
    lines = [f'"{p} "' for p in parts[:-1]] + [f'"{parts[-1]}"']
    return "(\n" + "".join(f"{indent}    {line}\n" for line in lines) + indent + ")"


def render(messages: dict[int, tuple[str, str]], records: dict[str, str]) -> str:
    """The text of the table."""
    out = [HEAD, "MESSAGES: dict[int, tuple[str, str]] = {\n"]
    for kind, (name, fields) in messages.items():
        out.append(f'    {kind}: ("{name}", {quoted(fields, "    ")}),\n')
    out.append("}\n\nRECORDS: dict[str, str] = {\n")
    for name, fields in records.items():
        out.append(f'    "{name}": {quoted(fields, "    ")},\n')
    out.append("}\n")
    return "".join(out)


def table() -> str:
    """The table as it should be."""
    return render(*read(json.loads(SCHEMA.read_text(encoding="utf-8"))))


if __name__ == "__main__":
    TABLE.write_text(table(), encoding="utf-8")
    sys.stdout.write(f"wrote {TABLE}\n")
