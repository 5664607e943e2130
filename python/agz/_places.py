"""Places in a text that is decoded: what tell() gives and seek() takes."""

from __future__ import annotations

import struct
from typing import NamedTuple

# nonce, byte offset, bytes to leave out, the decoder's flags (64 bits), bytes it holds
_COOKIE = struct.Struct(">8sQIQ")


class Place(NamedTuple):
    """A character: it comes `skip` bytes of UTF-8 behind what is decoded from `offset`."""

    offset: int
    state: tuple[bytes, int] | None
    """of the decoder at that offset; None for its initial one"""
    skip: int

    def cookie(self, nonce: bytes) -> int:
        """A negative number that stands for it, valid with the same nonce."""
        held, flags = self.state or (b"", 0)
        packed = _COOKIE.pack(nonce, self.offset, self.skip, flags & (2**64 - 1)) + held
        return -int.from_bytes(b"\x01" + packed, "big")

    @classmethod
    def of_cookie(cls, cookie: int, nonce: bytes) -> Place:
        number = -cookie
        packed = number.to_bytes((number.bit_length() + 7) // 8, "big")[1:]
        if len(packed) < _COOKIE.size or packed[:8] != nonce or len(nonce) != 8:
            raise OSError("Cannot seek to invalid text cookie for this stream")
        _, offset, skip, flags = _COOKIE.unpack_from(packed)
        return cls(offset, (packed[_COOKIE.size :], flags), skip)
