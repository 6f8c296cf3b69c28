"""Wire encoding: frames, values and messages.

Python values represent wire values: int, bool, str and bytes for uint, bool, text and bytes, a tuple for a record, a
list for a list. Decoded messages stay raw arrays until `fields` adds names: frequent answers are read by position, and
unused fields cost nothing.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ._messages import MESSAGES, RECORDS
from ._slots import xxhash64

FOREVER = 2**64 - 1
SLOTS = 4096
#: How deep values are nested that a reader looks into; deeper ones are skipped.
_DEEPEST = 32

_u16 = struct.Struct(">H").unpack_from
_u32 = struct.Struct(">I").unpack_from
_u64 = struct.Struct(">Q").unpack_from
_signed = {0xD0: (struct.Struct(">b"), 1), 0xD1: (struct.Struct(">h"), 2), 0xD2: (struct.Struct(">i"), 4),
           0xD3: (struct.Struct(">q"), 8)}
_put16 = struct.Struct(">BH").pack
_put32 = struct.Struct(">BI").pack
_put64 = struct.Struct(">BQ").pack
_length = struct.Struct(">I").pack


class Malformed(Exception):
    """Raised for bytes that are not a valid message, or a field of a wrong type."""


class Skipped:
    """A value that no known field can have: a float, a map, an extension, or deeply nested content."""

    __slots__ = ("what",)

    def __init__(self, what: str) -> None:
        self.what = what


def number_of(name: str) -> int:
    """Returns a message kind by name."""
    return _KINDS[name]


_KINDS = {name: kind for kind, (name, _) in MESSAGES.items()}


# Writing.


def put(out: bytearray, value: Any) -> None:
    """Appends a value."""
    kind = type(value)
    if kind is int:
        if value < 0x80:
            if value < 0:
                raise ValueError(f"{value} is below zero")
            out.append(value)
        elif value < 0x100:
            out += b"\xcc%c" % value
        elif value < 0x10000:
            out += _put16(0xCD, value)
        elif value < 0x100000000:
            out += _put32(0xCE, value)
        elif value <= FOREVER:
            out += _put64(0xCF, value)
        else:
            raise ValueError(f"{value} is above 2**64-1")
    elif kind is str:
        data = value.encode()
        n = len(data)
        if n < 32:
            out.append(0xA0 | n)
        elif n < 0x100:
            out += b"\xd9%c" % n
        elif n < 0x10000:
            out += _put16(0xDA, n)
        else:
            out += _put32(0xDB, n)
        out += data
    elif kind is bytes:
        n = len(value)
        if n < 0x100:
            out += b"\xc4%c" % n
        elif n < 0x10000:
            out += _put16(0xC5, n)
        else:
            out += _put32(0xC6, n)
        out += value
    elif kind is bool:
        out.append(0xC3 if value else 0xC2)
    elif kind is tuple or kind is list:
        n = len(value)
        if n < 16:
            out.append(0x90 | n)
        elif n < 0x10000:
            out += _put16(0xDC, n)
        else:
            out += _put32(0xDD, n)
        for item in value:
            put(out, item)
    else:
        raise TypeError(f"values with type {kind.__name__} cannot be encoded")


def frame(kind: int, request: int, body: Iterable[Any]) -> bytes:
    """Returns a message's frame. Trailing zero fields are omitted; in records, the caller must have omitted them."""
    values = [kind, request, *body]
    while len(values) > 2 and not values[-1]:
        values.pop()
    out = bytearray(4)
    put(out, values)
    out[:4] = _length(len(out) - 4)
    return bytes(out)


def body(name: str, values: Mapping[str, Any]) -> tuple[Any, ...]:
    """Returns a message's fields in order, from values by name. Missing values are zero."""
    return _compose(name, _spec_of(_KINDS[name]), values)


def record(name: str, values: Mapping[str, Any]) -> tuple[Any, ...]:
    """Returns a record from values by name, without trailing zeros."""
    made = list(_compose(name, _record_spec(name), values))
    while made and not made[-1]:
        made.pop()
    return tuple(made)


def _compose(name: str, spec: _Spec, values: Mapping[str, Any]) -> tuple[Any, ...]:
    known = 0
    made: list[Any] = []
    for field in spec:
        if field.name not in values:
            made.append(field.zero)
            continue
        known += 1
        value = values[field.name]
        if field.record and field.many:
            value = [v if type(v) is tuple else record(field.record, v) for v in value]
        elif field.record and type(value) is not tuple:
            value = record(field.record, value)
        made.append(value)
    if known != len(values):
        unknown = set(values) - {field.name for field in spec}
        raise TypeError(f"{name} has no field {', '.join(sorted(unknown))}")
    return tuple(made)


# Reading.


def unpack(payload: bytes) -> list[Any]:
    """Returns a payload's raw message: kind, request id, and fields."""
    try:
        value, end = _value(payload, 0, 0)
    except (IndexError, struct.error):
        raise Malformed("the frame is truncated") from None
    if type(value) is not list:
        raise Malformed("expected an array")
    if len(value) < 2:
        raise Malformed(f"an array with {len(value)} items, expected a kind and a request id")
    if end != len(payload):
        raise Malformed(f"{len(payload) - end} bytes behind the message")
    if type(value[0]) is not int or type(value[1]) is not int:
        raise Malformed("a kind and a request id are uints")
    if value[0] > 0xFFFF:
        raise Malformed(f"kind: {value[0]}, at most 65535")
    return value


def _array(b: bytes, at: int, n: int, depth: int) -> tuple[Any, int]:
    if n > len(b) - at:
        raise Malformed(f"an array with {n} items in {len(b) - at} bytes")
    if depth >= _DEEPEST:
        return Skipped("nested too deep"), _skip(b, at, n)
    items: list[Any] = []
    push = items.append
    for _ in range(n):
        c = b[at]
        if c < 0x80:
            push(c)
            at += 1
        elif c == 0xCF:
            push(_u64(b, at + 1)[0])
            at += 9
        elif c == 0xCE:
            push(_u32(b, at + 1)[0])
            at += 5
        else:
            value, at = _value(b, at, depth)
            push(value)
    return items, at


def _value(b: bytes, at: int, depth: int) -> tuple[Any, int]:
    c = b[at]
    at += 1
    if c < 0x80:
        return c, at
    if c < 0x90:
        return Skipped("a map"), _skip(b, at, 2 * (c & 0x0F))
    if c < 0xA0:
        return _array(b, at, c & 0x0F, depth + 1)
    if c < 0xC0:
        return _text(b, at, c & 0x1F)
    if c >= 0xE0:
        return c - 0x100, at
    if c == 0xC0:
        return None, at
    if c == 0xC2 or c == 0xC3:
        return c == 0xC3, at
    if c == 0xCC:
        return b[at], at + 1
    if c == 0xCD:
        return _u16(b, at)[0], at + 2
    if c == 0xCE:
        return _u32(b, at)[0], at + 4
    if c == 0xCF:
        return _u64(b, at)[0], at + 8
    if 0xD0 <= c <= 0xD3:
        form, size = _signed[c]
        return form.unpack_from(b, at)[0], at + size
    if c == 0xC4 or c == 0xD9:
        return _text(b, at + 1, b[at])
    if c == 0xC5 or c == 0xDA:
        return _text(b, at + 2, _u16(b, at)[0])
    if c == 0xC6 or c == 0xDB:
        return _text(b, at + 4, _u32(b, at)[0])
    if c == 0xDC:
        return _array(b, at + 2, _u16(b, at)[0], depth + 1)
    if c == 0xDD:
        return _array(b, at + 4, _u32(b, at)[0], depth + 1)
    return Skipped("a float, a map or an extension"), _skip(b, at - 1, 1)


def _text(b: bytes, at: int, n: int) -> tuple[bytes, int]:
    end = at + n
    if end > len(b):
        raise Malformed("the frame is truncated")
    return b[at:end], end


#: What follows the first byte of a value that is no array and no map, where that is not known from its name alone.
_FIXED = {0xC0: 0, 0xC2: 0, 0xC3: 0, 0xCA: 4, 0xCB: 8, 0xCC: 1, 0xCD: 2, 0xCE: 4, 0xCF: 8, 0xD0: 1, 0xD1: 2, 0xD2: 4,
          0xD3: 8, 0xD4: 2, 0xD5: 3, 0xD6: 5, 0xD7: 9, 0xD8: 17}
_SIZED = {0xC4: (1, 0), 0xC5: (2, 0), 0xC6: (4, 0), 0xC7: (1, 1), 0xC8: (2, 1), 0xC9: (4, 1), 0xD9: (1, 0),
          0xDA: (2, 0), 0xDB: (4, 0)}
_COUNTED = {0xDC: (2, 1), 0xDD: (4, 1), 0xDE: (2, 2), 0xDF: (4, 2)}


def _skip(b: bytes, at: int, values: int) -> int:
    """Returns the end of the given number of values at any depth."""
    while values > 0:
        if values > len(b) - at:
            raise Malformed(f"{values} values announced in {len(b) - at} bytes")
        values -= 1
        c = b[at]
        at += 1
        if c < 0x80 or c >= 0xE0:
            continue
        if c < 0xA0:
            values += (c & 0x0F) * (2 if c < 0x90 else 1)
        elif c < 0xC0:
            at += c & 0x1F
        elif c in _FIXED:
            at += _FIXED[c]
        elif c in _SIZED:
            size, extra = _SIZED[c]
            at += size + extra + int.from_bytes(b[at:at + size], "big")
        elif c in _COUNTED:
            size, each = _COUNTED[c]
            values += each * int.from_bytes(b[at:at + size], "big")
            at += size
        else:
            raise Malformed(f"the code {c:#x}, which msgpack does not use")
        if at > len(b):
            raise Malformed("the frame is truncated")
    return at


# Names for what was read.


class _Field:
    __slots__ = ("name", "type", "many", "record", "zero", "read")

    def __init__(self, text: str) -> None:
        self.name, _, what = text.partition(":")
        self.many = what.startswith("*")
        self.type = what = what.removeprefix("*")
        self.record = what if what not in _SCALARS else ""
        one: Callable[[Any], Any] = _SCALARS[what][1] if not self.record else _record_reader(what)
        if self.many:
            self.zero: Any = ()
            self.read: Callable[[Any], Any] = lambda raw: [one(item) for item in _list(raw)]
        else:
            self.zero = () if self.record else _SCALARS[what][0]
            self.read = one


_Spec = tuple[_Field, ...]


def _uint(raw: Any) -> int:
    if type(raw) is not int:
        raise Malformed(f"expected a uint, got {_name_of(raw)}")
    if raw < 0:
        raise Malformed(f"{raw} is not a uint")
    return raw


def _bool(raw: Any) -> bool:
    if type(raw) is not bool:
        raise Malformed(f"expected a bool, got {_name_of(raw)}")
    return raw


def _str(raw: Any) -> str:
    if type(raw) is not bytes:
        raise Malformed(f"expected a text, got {_name_of(raw)}")
    try:
        return raw.decode()
    except UnicodeDecodeError:
        raise Malformed("is not UTF-8") from None


def _bytes(raw: Any) -> bytes:
    if type(raw) is not bytes:
        raise Malformed(f"expected bytes, got {_name_of(raw)}")
    return raw


def _list(raw: Any) -> list[Any]:
    if type(raw) is not list:
        raise Malformed(f"expected an array, got {_name_of(raw)}")
    return raw


def _name_of(raw: Any) -> str:
    if isinstance(raw, Skipped):
        return raw.what
    return {bytes: "a string", int: "a number", list: "an array", bool: "a bool"}.get(type(raw), "nil")


_SCALARS: dict[str, tuple[Any, Callable[[Any], Any]]] = {
    "u": (0, _uint), "t": ("", _str), "b": (b"", _bytes), "o": (False, _bool),
}
_messages: dict[int, _Spec] = {}
_records: dict[str, _Spec] = {}


def _spec_of(kind: int) -> _Spec:
    spec = _messages.get(kind)
    if spec is None:
        spec = _messages[kind] = tuple(_Field(f) for f in MESSAGES[kind][1].split())
    return spec


def _record_spec(name: str) -> _Spec:
    spec = _records.get(name)
    if spec is None:
        spec = _records[name] = tuple(_Field(f) for f in RECORDS[name].split())
    return spec


def _record_reader(name: str) -> Callable[[Any], Any]:
    return lambda raw: _named(_record_spec(name), [] if raw is None else _list(raw), 0)


def _named(spec: _Spec, raw: list[Any], at: int) -> dict[str, Any]:
    named = {}
    n = len(raw)
    for field in spec:
        value = raw[at] if at < n else None
        at += 1
        try:
            if value is not None:
                named[field.name] = field.read(value)
            elif field.record and not field.many:
                named[field.name] = field.read([])
            else:
                named[field.name] = list(field.zero) if field.many else field.zero
        except Malformed as e:
            raise Malformed(f"{field.name}: {e}") from None
    return named


def is_answer(kind: int) -> bool:
    """True if a kind is an answer's kind."""
    return 65 <= kind <= 111 or 192 <= kind <= 255


def fields(raw: list[Any]) -> dict[str, Any]:
    """Returns a raw message's fields by name; for an answer, the fields after status and detail."""
    kind = raw[0]
    return _named(_spec_of(kind), raw, 4 if is_answer(kind) else 2)


def read_record(name: str, raw: Any) -> dict[str, Any]:
    """Returns a raw record's fields by name."""
    return _named(_record_spec(name), [] if raw is None else _list(raw), 0)


def unpack_record(name: str, data: bytes) -> dict[str, Any]:
    """Returns a standalone record, such as an object's head or row."""
    if not data:
        return read_record(name, [])
    try:
        value, _ = _value(data, 0, 0)
    except (IndexError, struct.error):
        raise Malformed("the record is truncated") from None
    return read_record(name, value)


def text_of(raw: list[Any], index: int) -> str:
    """Returns a text in a raw array, empty if missing."""
    value = raw[index] if len(raw) > index else None
    return "" if value is None else _str(value)


def uint_of(raw: list[Any], index: int) -> int:
    """Returns a uint in a raw array, 0 if missing."""
    value = raw[index] if len(raw) > index else 0
    if type(value) is int and value >= 0:
        return value
    return 0 if value is None else _uint(value)


def semaphore_slot(node: int, name: str) -> int:
    """Returns the slot for an object name."""
    return xxhash64(node.to_bytes(8, "little") + name.encode()) % SLOTS


def session_slot(session: int) -> int:
    """Returns a session's slot."""
    return session >> 52
