"""The bytes of the protocol: every vector is read and written, and the table of messages is that of the schema."""

import json
import sys
import unittest
from pathlib import Path
from typing import Any

TOP = Path(__file__).parents[3]
sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))

import messages  # noqa: E402

from signalbox import _wire as wire  # noqa: E402
from signalbox._messages import MESSAGES, RECORDS  # noqa: E402

VECTORS = TOP / "protocol" / "testdata" / "vectors"


def load(name: str) -> Any:
    return json.loads((VECTORS / name).read_text(encoding="utf-8"))


def typed(what: str, value: Any) -> Any:
    """A value as JSON has it, as its type in Python."""
    if what.startswith("*"):
        return [typed(what[1:], v) for v in value]
    if what == "u":
        return int(value)
    if what == "b":
        return bytes.fromhex(value)
    if what in "to":
        return value
    spec = dict(f.split(":") for f in RECORDS[what].split())
    return {k: typed(spec[k], v) for k, v in value.items()}


def vector_fields(vector: dict[str, Any]) -> dict[str, Any]:
    spec = dict(f.split(":") for f in MESSAGES[vector["number"]][1].split())
    if wire.is_answer(vector["number"]):
        spec |= {"status": "u", "detail": "Detail"}
    return {k: typed(spec[k], v) for k, v in vector["fields"].items()}


def written(vector: dict[str, Any]) -> bytes:
    values = vector_fields(vector)
    head: tuple[Any, ...] = ()
    if wire.is_answer(vector["number"]):
        head = values.pop("status"), wire.record("Detail", values.pop("detail"))
    return wire.frame(vector["number"], vector["request_id"], (*head, *wire.body(vector["kind"], values)))


def without_zeros(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: z for k, v in value.items() if (z := without_zeros(v))}
    if isinstance(value, list):
        return [without_zeros(v) for v in value]
    return value


def read(raw: list[Any]) -> dict[str, Any]:
    named = wire.fields(raw)
    if wire.is_answer(raw[0]):
        named["status"] = wire.uint_of(raw, 2)
        named["detail"] = wire.read_record("Detail", raw[3] if len(raw) > 3 else None)
    return named


class Bytes(unittest.TestCase):
    def test_every_vector_is_read_and_written(self) -> None:
        names = sorted(p.name for p in (VECTORS / "messages").iterdir())
        kinds = set()
        for name in names:
            with self.subTest(name):
                vector = load(f"messages/{name}")
                frame = bytes.fromhex(vector["frame"])
                raw = wire.unpack(frame[4:])
                self.assertEqual(raw[:2], [vector["number"], vector["request_id"]])
                self.assertEqual(without_zeros(read(raw)), without_zeros(vector_fields(vector)))
                self.assertEqual(written(vector).hex(), frame.hex())
                kinds.add(vector["number"])
        self.assertGreaterEqual(len(names), 256)
        self.assertEqual(kinds, set(MESSAGES), "a kind has no vector, or is not in the table")

    def test_what_no_writer_makes_is_read(self) -> None:
        for case in load("lenient.json"):
            with self.subTest(case["why"]):
                same = load(f"messages/{case['same_as']}.json")
                raw = wire.unpack(bytes.fromhex(case["payload"]))
                self.assertEqual(raw[:2], [same["number"], same["request_id"]])
                self.assertEqual(without_zeros(read(raw)), without_zeros(vector_fields(same)))

    def test_what_is_no_message_is_refused(self) -> None:
        # A host refuses more: kinds that are no requests, the id of pushes, and values over their limits.
        of_hosts = ("not a request kind", "belongs to pushes", "at most 16", "at most 1800000")
        for case in load("rejected.json"):
            with self.subTest(case["error"]):
                payload = bytes.fromhex(case["payload"])
                if any(text in case["error"] for text in of_hosts):
                    continue
                with self.assertRaises(wire.Malformed):
                    raw = wire.unpack(payload)
                    wire.uint_of(raw, 1)
                    wire.fields(raw)

    def test_nested_values_that_are_not_known_are_skipped_however_deep(self) -> None:
        self.assertEqual(wire.unpack(b"\x93\x02\x02" + b"\x91" * 100_000 + b"\xc0")[:2], [2, 2])

    def test_slots(self) -> None:
        for case in load("slots.json"):
            self.assertEqual(wire.semaphore_slot(int(case["node_id"]), case["name"]), case["slot"], case)

    def test_the_table_is_that_of_the_schema(self) -> None:
        self.assertEqual(messages.TABLE.read_text(encoding="utf-8"), messages.table(),
                         "run python3 tools/messages.py")


if __name__ == "__main__":
    unittest.main()
