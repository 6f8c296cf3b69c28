"""xxHash64, which maps names to slots."""

from __future__ import annotations

import struct

_MASK = 2**64 - 1
_P1 = 0x9E3779B185EBCA87
_P2 = 0xC2B2AE3D27D4EB4F
_P3 = 0x165667B19E3779F9
_P4 = 0x85EBCA77C2B2AE63
_P5 = 0x27D4EB2F165667C5
_lanes = struct.Struct("<4Q").unpack_from


def _rotate(x: int, n: int) -> int:
    return ((x << n) | (x >> (64 - n))) & _MASK


def _round(acc: int, lane: int) -> int:
    return _rotate((acc + lane * _P2) & _MASK, 31) * _P1 & _MASK


def xxhash64(data: bytes) -> int:
    """The hash with seed 0."""
    n, at = len(data), 0
    if n >= 32:
        a, b, c, d = (_P1 + _P2) & _MASK, _P2, 0, -_P1 & _MASK
        while at + 32 <= n:
            one, two, three, four = _lanes(data, at)
            a, b, c, d = _round(a, one), _round(b, two), _round(c, three), _round(d, four)
            at += 32
        h = (_rotate(a, 1) + _rotate(b, 7) + _rotate(c, 12) + _rotate(d, 18)) & _MASK
        for lane in (a, b, c, d):
            h = ((h ^ _round(0, lane)) * _P1 + _P4) & _MASK
    else:
        h = _P5
    h = (h + n) & _MASK
    while at + 8 <= n:
        h = (_rotate(h ^ _round(0, int.from_bytes(data[at:at + 8], "little")), 27) * _P1 + _P4) & _MASK
        at += 8
    if at + 4 <= n:
        h = (_rotate(h ^ int.from_bytes(data[at:at + 4], "little") * _P1 & _MASK, 23) * _P2 + _P3) & _MASK
        at += 4
    for byte in data[at:]:
        h = _rotate(h ^ byte * _P5 & _MASK, 11) * _P1 & _MASK
    h = (h ^ h >> 33) * _P2 & _MASK
    h = (h ^ h >> 29) * _P3 & _MASK
    return h ^ h >> 32
