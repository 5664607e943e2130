"""The gzip codec without I/O: synchronous, bounded, one operation at a time.

    encoder = GzipEncoder(mtime=0)
    wire = b"".join([*encoder.start(), *encoder.feed(b"payload"), *encoder.finish()])

Each call that moves a codec on returns a `CodecOperation`: an iterator over chunks of at
most `output_chunk_size` bytes, which does its work as it is advanced and has to be exhausted
before the next call. Instances are not thread-safe.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NoReturn, Protocol, runtime_checkable

from . import _agz
from ._arguments import (
    check_bool,
    check_bound,
    check_chunk_size,
    check_level,
    check_mtime,
    check_original_filename,
    header_name,
    mtime_now,
)
from ._records import GzipMemberInfo

__all__ = ["CodecOperation", "GzipDecoder", "GzipEncoder"]

_DEFAULT_OUTPUT_CHUNK_SIZE = 256 * 1024

# enum agz_flush, and whether a decoder's input ends.
_RUN, _FLUSH, _FINISH = 0, 1, 2
_ENDS = 1


@runtime_checkable
class CodecOperation(Iterator[bytes], Protocol):
    """An iterator over the chunks of one operation, which can be closed early.

    Like its codec it is not thread-safe.
    """

    __slots__ = ()

    def close(self) -> None:
        """Give the operation up. If it was not exhausted, the codec becomes unusable."""


class _Operation:
    """The one implementation of CodecOperation."""

    __slots__ = ("_codec", "_steps")

    def __init__(self, codec: _Codec, steps: Iterator[bytes]) -> None:
        self._codec = codec
        self._steps: Iterator[bytes] | None = steps

    def __iter__(self) -> _Operation:
        return self

    def __next__(self) -> bytes:
        if self._codec._discarded:
            self._steps = None
            raise RuntimeError("codec operation was invalidated by discard()")
        if self._steps is None:
            raise StopIteration
        try:
            return next(self._steps)
        except StopIteration:
            self._steps = None
            self._codec._active = False
            raise
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        if self._steps is not None:
            self._steps = None
            self._codec._break()


class _Codec:
    """What both codecs have in common: one operation at a time, and how they end."""

    __slots__ = (
        *("_active", "_core", "_discarded", "_size", "_unusable"),
        *("__dict__", "__weakref__"),
    )

    _core: Any

    def __init__(self, output_chunk_size: int) -> None:
        self._size = check_chunk_size(output_chunk_size, "output_chunk_size")
        self._active = False  # reserved by an operation, which the codec does not refer to
        self._discarded = self._unusable = False

    def __getstate__(self) -> NoReturn:
        raise TypeError(f"cannot copy or pickle {type(self).__name__!r} object")

    def _ready(self) -> None:
        if self._unusable:
            raise OSError("gzip codec is unusable after a failed or abandoned operation")
        if self._active:
            raise RuntimeError("gzip codec has an active operation; exhaust or close it first")

    def _begin(self, steps: Iterator[bytes]) -> CodecOperation:
        self._active = True
        return _Operation(self, steps)

    def _break(self) -> None:
        """Nothing more can be done with this codec; lets go of its state."""
        self._unusable = True
        self._active = False
        self._core = None

    def discard(self) -> None:
        """Give the codec up at once, with the operation it may be in."""
        self._discarded = True
        self._break()

    def _chunks(self, how: int) -> Iterator[bytes]:
        core, size = self._core, self._size
        while (chunk := core.next(size, how)) is not None:
            yield chunk


def exact_bytes(data: object) -> bytes:
    """Bytes as they are; of a subclass its raw buffer: none of its methods is asked."""
    if type(data) is bytes:
        return data
    if isinstance(data, bytes):
        return bytes(memoryview(data))
    raise TypeError(f"codec input must be bytes, not {type(data).__name__}")


class GzipEncoder(_Codec):
    """Makes one gzip member: start(), feed() and flush() any number of times, finish().

    An instance and its operations are not thread-safe.
    """

    __slots__ = ("_crc32", "_finished", "_input_size", "_make", "_started")

    def __init__(
        self,
        *,
        compresslevel: int = 6,
        mtime: int | float | None = None,
        original_filename: str | bytes | None = None,
        fast_compress: bool = False,
        strict_size: bool = False,
        output_chunk_size: int = _DEFAULT_OUTPUT_CHUNK_SIZE,
    ) -> None:
        check_bool(fast_compress, "fast_compress")
        check_bool(strict_size, "strict_size")
        level = check_level(compresslevel)
        seconds = check_mtime(mtime)
        name = header_name(check_original_filename(original_filename))
        super().__init__(output_chunk_size)
        self._make: Callable[[], _agz.Encoder] = lambda: _agz.Encoder(
            level, fast_compress, mtime_now(seconds), name, strict_size
        )
        self._core = None
        self._started = self._finished = False
        self._input_size = self._crc32 = 0

    def start(self) -> CodecOperation:
        """The member's header. Its mtime, if not given, is that of the first chunk."""
        self._ready()
        if self._started:
            raise ValueError("gzip encoder is already started")
        return self._begin(self._start())

    def _start(self) -> Iterator[bytes]:
        self._core = self._make()
        self._started = True
        yield from self._chunks(_RUN)

    def feed(self, data: bytes) -> CodecOperation:
        """Compresses data (bytes); what comes out may come later."""
        self._ready()
        self._check_started("feeding")
        return self._begin(self._feed(exact_bytes(data)))

    def _feed(self, data: bytes) -> Iterator[bytes]:
        core, whole = self._core, self._input_size + len(data)
        core.feed(data)
        for chunk in self._chunks(_RUN):
            if core.in_nbytes == whole:
                self._count()
            yield chunk
        self._count()

    def flush(self) -> CodecOperation:
        """All that was fed so far, decodable (Z_SYNC_FLUSH)."""
        self._ready()
        self._check_started("flushing")
        return self._begin(self._flush(_FLUSH))

    def finish(self) -> CodecOperation:
        """The end of the member and its trailer."""
        self._ready()
        self._check_started("finalizing")
        return self._begin(self._finish())

    def _flush(self, how: int) -> Iterator[bytes]:
        self._core.go_on()
        yield from self._chunks(how)

    def _finish(self) -> Iterator[bytes]:
        yield from self._flush(_FINISH)
        self._finished = True
        self._core = None

    def _check_started(self, doing: str) -> None:
        if self._finished:
            raise ValueError("gzip encoder is already finalized")
        if not self._started:
            raise ValueError(f"gzip encoder must be started before {doing}")

    def _count(self) -> None:
        self._input_size, self._crc32 = self._core.in_nbytes, self._core.crc32

    @property
    def started(self) -> bool:
        return self._started

    @property
    def finished(self) -> bool:
        return self._finished

    @property
    def input_size(self) -> int:
        """Bytes that feed() has passed through the engine."""
        return self._input_size

    @property
    def crc32(self) -> int:
        """The CRC-32 of those bytes."""
        return self._crc32


class GzipDecoder(_Codec):
    """Decodes a gzip stream of any number of members: feed() its bytes, then finish().

    An instance and its operations are not thread-safe.
    """

    __slots__ = ("_collect", "_compressed_size", "_counts", "_finished", "_members")

    def __init__(
        self,
        *,
        output_chunk_size: int = _DEFAULT_OUTPUT_CHUNK_SIZE,
        max_decompressed_size: int | None = None,
        collect_member_info: bool = False,
    ) -> None:
        check_bool(collect_member_info, "collect_member_info")
        bound = check_bound(max_decompressed_size, "max_decompressed_size")
        super().__init__(output_chunk_size)
        self._core: _agz.Decoder | None = _agz.Decoder(bound or 0, collect_member_info)
        self._collect = collect_member_info
        self._compressed_size = 0
        self._counts = (0, 0)
        self._members: tuple[GzipMemberInfo, ...] = ()
        self._finished = False

    def feed(self, data: bytes) -> CodecOperation:
        """Decodes data (bytes). Its chunks are not validated before finish() is exhausted."""
        self._ready()
        data = exact_bytes(data)
        self._compressed_size += len(data)
        return self._begin(self._feed(data))

    def _feed(self, data: bytes) -> Iterator[bytes]:
        core = self._core
        assert core is not None
        core.feed(data)
        yield from self._chunks(_RUN)

    def finish(self) -> CodecOperation:
        """The end of the input: BadGzipFile unless the stream is complete."""
        self._ready()
        return self._begin(self._finish())

    def _finish(self) -> Iterator[bytes]:
        assert self._core is not None
        self._core.go_on()
        yield from self._chunks(_ENDS)
        self._finished = True
        self._let_go()

    def _ready(self) -> None:
        super()._ready()
        if self._finished:
            raise ValueError("gzip decoder is already finalized")

    def _let_go(self) -> None:
        core = self._core
        if core is not None:
            self._counts = (core.member_count, core.out_nbytes)
            self._members = self._records(core)
            self._core = None

    def _break(self) -> None:
        self._let_go()
        super()._break()

    @staticmethod
    def _records(core: _agz.Decoder) -> tuple[GzipMemberInfo, ...]:
        return tuple(GzipMemberInfo(*record) for record in core.members)

    @property
    def finished(self) -> bool:
        """True once finish() was exhausted: the whole stream is valid."""
        return self._finished

    @property
    def member_count(self) -> int:
        """Members whose trailers were validated."""
        return self._counts[0] if self._core is None else self._core.member_count

    @property
    def members(self) -> tuple[GzipMemberInfo, ...]:
        """Their records, with collect_member_info."""
        return self._members if self._core is None else self._records(self._core)

    @property
    def compressed_size(self) -> int:
        """Bytes given to feed()."""
        return self._compressed_size

    @property
    def uncompressed_size(self) -> int:
        """Bytes decoded, some of which may not have been handed out yet."""
        return self._counts[1] if self._core is None else self._core.out_nbytes
