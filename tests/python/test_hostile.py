"""Files that mean harm: bombs, members and headers without end, lengths that lie, bits that are
flipped, what is joined from good parts and bad, files that change while they are read, and what
is no regular file. On each way to read a file the outcome is the right bytes or the right
error, the one that CPython's gzip gives where it has one, and memory stays where it was.

AGZ_HOSTILE: how many times as much of it as in `make check`; 200 is 10 GiB from 10 MB, a million
members, 100,000 flipped bits."""

import asyncio
import errno
import gzip
import json
import os
import random
import resource
import socket
import subprocess
import threading
import zlib
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import agz
import pytest
from support import FOREVER, Pieces, python, source_text, zeros_file
from test_memory import over

SCALE = int(os.environ.get("AGZ_HOSTILE", "1"))
pytestmark = pytest.mark.timeout(FOREVER)

MIB = 1 << 20
LIMIT = 12 * MIB  # over a bare interpreter, whatever the file

TEXT = source_text(150_000)
EMPTY = gzip.compress(b"", mtime=0)


def header(flags: int = 0, fields: bytes = b"") -> bytes:
    return b"\x1f\x8b\x08" + bytes([flags]) + bytes(5) + b"\x03" + fields


# ---- every way to read a file -------------------------------------------------------------

Outcome = tuple[bytes | int, str]  # what came, or its size; "" or the kind of error


def kind_of(error: BaseException) -> str:
    if isinstance(error, EOFError):
        return "eof"
    if isinstance(error, (gzip.BadGzipFile, zlib.error)):
        return "bad"
    if isinstance(error, OSError) and error.errno:
        return errno.errorcode[error.errno]
    return repr(error)


async def in_steps(file: Any, call: Callable[[], Awaitable[Any]]) -> Outcome:
    got = bytearray()
    try:
        async with file:
            while piece := await call():
                got += piece.encode("latin-1") if isinstance(piece, str) else piece
    except (OSError, EOFError) as error:
        return bytes(got), kind_of(error)
    return bytes(got), ""


async def at_once(call: Awaitable[Any]) -> Outcome:
    try:
        got = await call
    except (OSError, EOFError) as error:
        return b"", kind_of(error)
    return (got if isinstance(got, bytes) else got.uncompressed_size), ""


async def in_chunks(data: bytes) -> Outcome:
    got = b""

    async def source() -> Any:
        for i in range(0, len(data), 20_000):
            yield data[i : i + 20_000]

    try:
        async for chunk in agz.decompress_chunks(source()):
            got += chunk
    except OSError as error:
        return got, kind_of(error)
    return got, ""


def by_decoder(data: bytes) -> Outcome:
    decoder, got = agz.GzipDecoder(), b""
    try:
        for call in (lambda: decoder.feed(data), decoder.finish):
            for chunk in call():
                got += chunk
    except OSError as error:
        return got, kind_of(error)
    return got, ""


async def outcomes(path: Path) -> dict[str, Outcome]:
    data = path.read_bytes()
    binary: Any = agz.open(path)
    lines: Any = agz.open(path)
    text: Any = agz.open(path, "rt", encoding="latin-1", newline="")
    source: Any = agz.open(None, fileobj=Pieces(data, 20_000))
    return {
        "read1": await in_steps(binary, lambda: binary.read1(50_000)),
        "readline": await in_steps(lines, lines.readline),
        "text": await in_steps(text, lambda: anext(text, "")),
        "fileobj": await in_steps(source, lambda: source.read(50_000)),
        "read": await at_once(agz.read(path)),
        "verify": await at_once(agz.verify(path)),
        "inspect": await at_once(agz.inspect(path)),
        "decompress_chunks": await in_chunks(data),
        "GzipDecoder": by_decoder(data),
    }


def by_gzip(path: Path) -> Outcome:
    """What CPython makes of it."""
    got = b""
    try:
        with gzip.open(path) as file:
            while piece := file.read1():
                got += piece
    except (OSError, EOFError, zlib.error) as error:
        return got, kind_of(error)
    return got, ""


def holds(got: dict[str, Outcome], plain: bytes, kind: str) -> None:
    """All gave the same verdict, no other bytes, and if there is no error all of them."""
    for way, (what, error) in got.items():
        assert error == kind, (way, error)
        if isinstance(what, int):
            assert what == len(plain), way
        else:
            assert what == plain if not kind else plain.startswith(what), way


class Command:
    """`agz verify --json` and `agz cat` of many files in one process each."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def verdicts(self, files: list[Path]) -> list[bool]:
        done = subprocess.run(
            [self.path, "verify", "--json", *files], capture_output=True, check=False
        )
        assert done.returncode in (0, 1)
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        assert len(lines) == len(files), done.stderr[:500]
        return [line["ok"] for line in lines]

    def bounded(self, *args: str | Path) -> subprocess.CompletedProcess[bytes]:
        """With no more than 100 MiB of data, the stacks of its threads included."""

        def limit() -> None:
            resource.setrlimit(resource.RLIMIT_DATA, (100 * MIB, 100 * MIB))

        return subprocess.run(
            [self.path, *args], capture_output=True, check=False, preexec_fn=limit
        )


@pytest.fixture
def tool(command: Path) -> Command:
    return Command(command)


# ---- bombs --------------------------------------------------------------------------------

# Every way that streams, in one process; the sizes that came, or the number of members.
STREAMED = """
async def main(path):
    got = {"verify": await agz.verify(path)}
    for mode, call in (("rb", "read"), ("rb", "read1"), ("rt", "read")):
        n = 0
        async with agz.open(path, mode) as file:
            while piece := await getattr(file, call)(65536):
                n += len(piece)
        got[mode, call] = n
    async with agz.open(path) as file:
        got["seek"] = await file.seek(0, 2)
    async def source():
        with open(path, "rb") as raw:
            while data := raw.read(1 << 20):
                yield data
    got["chunks"] = 0
    async for chunk in agz.decompress_chunks(source()):
        got["chunks"] += len(chunk)
    decoder = agz.GzipDecoder()
    got["decoder"] = 0
    async for data in source():
        for chunk in decoder.feed(data):
            got["decoder"] += len(chunk)
    for chunk in decoder.finish():
        got["decoder"] += len(chunk)
    verified = got.pop("verify")
    sizes = {verified.uncompressed_size, *got.values()}
    assert sizes == {%d}, got
    assert (verified.member_count, decoder.member_count) == (%d, %d)
"""


def test_a_bomb(tmp_path: Path, tool: Command) -> None:
    """A thousand to one, in one member."""
    mib = min(64 * SCALE, 10 * 1024)
    path = tmp_path / "bomb.gz"
    zeros_file(path, mib)
    assert path.stat().st_size < 1100 * mib
    assert over(STREAMED % (mib * MIB, 1, 1), path) <= LIMIT
    done = tool.bounded("verify", path)
    assert (done.returncode, str(mib * MIB).encode() in done.stdout) == (0, True)


def test_a_bomb_that_may_give_no_more(tmp_path: Path) -> None:
    """Also as one line, which is a whole only where its end would be."""
    path = tmp_path / "bomb.gz"
    zeros_file(path, 200)
    code = """
async def main(path):
    most = 1 << 20
    async def lines(mode):
        async with agz.open(path, mode, max_decompressed_size=most) as file:
            async for line in file:
                raise AssertionError("a line")
    async def rest(mode):
        async with agz.open(path, mode, max_decompressed_size=most) as file:
            await file.read()
    calls = [agz.read(path, max_decompressed_size=most), lines("rb"), lines("rt"), rest("rt"),
             agz.verify(path, max_decompressed_size=most)]
    for call in calls:
        try:
            await call
        except OSError as error:
            assert "max_decompressed_size" in str(error)
        else:
            raise AssertionError("no error")
"""
    assert over(code, path) <= LIMIT


# ---- members and headers ------------------------------------------------------------------


def test_many_empty_members(tmp_path: Path, tool: Command) -> None:
    n = min(100_000 * SCALE, 1_000_000)
    path = tmp_path / "f.gz"
    path.write_bytes(EMPTY * n)
    assert over(STREAMED % (0, n, n), path) <= LIMIT
    done = tool.bounded("verify", path)
    assert f"{n} member(s)".encode() in done.stdout
    # inspect() gives a record for each: that is what its memory goes by.
    code = f"""
async def main(path):
    info = await agz.inspect(path)
    assert info.member_count == {n}
    assert info.members[-1].compressed_offset == {(n - 1) * len(EMPTY)}
"""
    assert over(code, path) <= LIMIT + n * 1000


def test_an_extra_field_in_each_member(tmp_path: Path, tool: Command) -> None:
    n = 100_000
    field = header(4, (100).to_bytes(2, "little") + bytes(100)) + EMPTY[10:]
    longest = header(4, (65535).to_bytes(2, "little") + bytes(65535)) + EMPTY[10:]
    path = tmp_path / "f.gz"
    path.write_bytes(field * n + longest * 100)
    assert over(STREAMED % (0, n + 100, n + 100), path) <= LIMIT
    assert f"{n + 100} member(s)".encode() in tool.bounded("verify", path).stdout


@pytest.mark.parametrize("flag", [8, 16] if SCALE > 1 else [8])  # a name, a comment
def test_a_header_of_128_mib(tmp_path: Path, tool: Command, flag: int) -> None:
    """The largest there may be goes past without being kept; one byte more is an error."""
    path = tmp_path / "f.gz"
    most = 128 * MIB - 11
    path.write_bytes(header(flag) + b"a" * most + b"\0" + gzip.compress(b"data")[10:])
    assert over(STREAMED % (4, 1, 1), path) <= LIMIT
    assert tool.bounded("verify", path).returncode == 0
    # inspect() has it all: a few times over, as bytes and as text.
    code = f"""
async def main(path):
    member, = (await agz.inspect(path)).members
    assert len(member.original_filename or member.comment) == {most}
"""
    assert over(code, path) <= LIMIT + 4 * 128 * MIB
    path.write_bytes(header(flag) + b"a" * (most + 1) + b"\0" + gzip.compress(b"data")[10:])
    code = """
import gzip
async def main(path):
    for call in (agz.read, agz.verify):
        try:
            await call(path)
        except gzip.BadGzipFile as error:
            assert "header" in str(error).lower(), error
        else:
            raise AssertionError("no error")
"""
    assert over(code, path) <= LIMIT
    assert tool.bounded("verify", path).returncode == 1


def test_a_header_without_end(tmp_path: Path) -> None:
    """A name that a stream never ends: refused where the bound is, not when memory is full."""
    code = """
import gzip
async def main():
    given = 0
    async def source():
        nonlocal given
        yield b"\\x1f\\x8b\\x08\\x08" + bytes(6)
        while True:
            given += 1 << 20
            yield b"a" * (1 << 20)
    try:
        async for chunk in agz.decompress_chunks(source()):
            raise AssertionError("a chunk")
    except gzip.BadGzipFile:
        pass
    assert given <= 129 << 20
"""
    assert over(code) <= LIMIT


@pytest.mark.parametrize("isize", [0, 1, 149_999, 150_001, 2**31, 2**32 - 1])
def test_isize_lies(tmp_path: Path, tool: Command, isize: int) -> None:
    """In both directions: it is no more than a hint, and wrong is wrong."""
    good = gzip.compress(TEXT)
    bad = good[:-4] + isize.to_bytes(4, "little")
    path = tmp_path / "f.gz"
    path.write_bytes(bad)
    holds(asyncio.run(outcomes(path)), TEXT, "bad")
    assert by_gzip(path)[1] == "bad"
    assert tool.bounded("verify", path).returncode == 1
    # The last member's says nothing of those before it.
    path.write_bytes(good * 5 + EMPTY)
    holds(asyncio.run(outcomes(path)), TEXT * 5, "")
    path.write_bytes(bad + good)
    holds(asyncio.run(outcomes(path)), TEXT + TEXT, "bad")


NAMES = {
    "terminal": b"\x1b]0;title\x07\x1b[2J\x1b[31mred\x1b[0m",
    "lines": b"a\nOK: other.gz: 1 member(s)\r\n\x0b\x0c\x85",
    "c1": b"\x80\x84\x8d\x90\x9b\x9d\x9f31m",
    "back": b"\x08\x08\x7f\\x1b\\",
    "all": bytes(range(1, 256)),
}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("by", ["command", "module"])
def test_names_that_steer_a_terminal(
    tmp_path: Path, tool: Command, name: str, by: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """As they are in Python; escaped in what the command prints, in JSON too."""
    path = tmp_path / "f.gz"
    path.write_bytes(header(8 + 16, NAMES[name] + b"\0" + NAMES[name] + b"\0") + EMPTY[10:])
    member = asyncio.run(agz.inspect(path)).members[0]
    assert member.original_filename == NAMES[name].decode("latin-1")
    printed = {}
    for args in (["inspect"], ["inspect", "--json"]):
        if by == "command":
            done = tool.bounded(*args, path)
            assert done.returncode == 0
            printed[len(args)] = done.stdout.decode()
        else:
            from agz.__main__ import main

            assert main([*args, str(path)]) == 0
            printed[len(args)] = capsys.readouterr().out
        lines = printed[len(args)].removesuffix("\n").split("\n")
        assert len(lines) == (2 if len(args) == 1 else 1)
        assert not any(ord(c) < 32 or 127 <= ord(c) < 160 for line in lines for c in line)
    record = json.loads(printed[2])["members"][0]
    assert record["original_filename"] == record["comment"] == member.original_filename


def test_a_nul_ends_a_name(tmp_path: Path) -> None:
    """So what follows is data, and none that could be inflated."""
    path = tmp_path / "f.gz"
    path.write_bytes(header(8, b"good\0evil\x1b[2J\0") + gzip.compress(b"data")[10:])
    holds(asyncio.run(outcomes(path)), b"", "bad")


def test_a_name_in_a_header_is_no_path(tmp_path: Path, tool: Command) -> None:
    """Nothing is ever opened, or written, by the name that a file gives of itself."""
    folder = tmp_path / "in"
    folder.mkdir()
    for name in (b"../evil", b"/tmp/agz-evil", b"sub/evil", b"evil"):
        path = folder / "f.gz"
        path.write_bytes(header(8, name + b"\0") + gzip.compress(b"data")[10:])
        assert asyncio.run(agz.read(path)) == b"data"
        assert tool.bounded("decompress", "-f", path).returncode == 0
        assert os.listdir(folder) == ["f"]
        assert (folder / "f").read_bytes() == b"data"
        (folder / "f").unlink()
    assert os.listdir(tmp_path) == ["in"]
    assert not Path("/tmp/agz-evil").exists()


# ---- broken on purpose --------------------------------------------------------------------


def test_each_flipped_bit_and_the_command(tmp_path: Path, tool: Command) -> None:
    """Its verdict is the package's, bit by bit; those are held against gzip elsewhere."""
    whole = header(8, b"name\0") + gzip.compress(b"a small file\n" * 3)[10:] + EMPTY
    files = []
    for i in range(8 * len(whole)):
        broken = bytearray(whole)
        broken[i // 8] ^= 1 << (i % 8)
        files.append(tmp_path / str(i))
        files[-1].write_bytes(broken)

    async def each() -> list[bool]:
        return [not (await at_once(agz.verify(file)))[1] for file in files]

    verdicts = tool.verdicts(files)
    assert verdicts == asyncio.run(each())
    assert 0 < sum(verdicts) < len(files) / 2  # the fields that nothing checks


def test_each_truncation_and_the_command(tmp_path: Path, tool: Command) -> None:
    whole = header(8, b"name\0") + gzip.compress(b"a small file\n" * 3)[10:] + EMPTY
    files = [tmp_path / str(n) for n in range(len(whole) + 1)]
    for n, file in enumerate(files):
        file.write_bytes(whole[:n])
    good = [0, len(whole) - len(EMPTY), len(whole)]
    assert [n for n, valid in enumerate(tool.verdicts(files)) if valid] == good


def test_bits_flipped_in_a_large_file(tmp_path: Path) -> None:
    """At random places: found by every way, and nothing that comes is wrong before it."""
    draw = random.Random(3)
    plain = TEXT + TEXT[::-1]
    whole = gzip.compress(TEXT, 6, mtime=0) + gzip.compress(TEXT[::-1], 1, mtime=0)
    start = len(gzip.compress(TEXT, 6, mtime=0))
    path = tmp_path / "f.gz"
    path.write_bytes(whole)

    async def main() -> None:
        for n in range(500 * SCALE):
            at = draw.randrange(len(whole))
            broken = bytearray(whole)
            broken[at] ^= 1 << draw.randrange(8)
            with path.open("r+b") as file:
                file.seek(at)
                file.write(broken[at : at + 1])
            if n % 50 == 0:
                kind = by_gzip(path)[1]
                if at in (3, start + 3):
                    kind = kind or "bad"  # reserved flags, which gzip does not look at
                kinds = {error for _, error in (await outcomes(path)).values()}
                # Whether wrong symbols run out of the file, or the CRC finds them, may differ.
                assert kinds <= {"bad", "eof"} if kind else kinds == {""}
            else:
                got1 = by_decoder(bytes(broken)) if n % 2 else await at_once(agz.read(path))
                assert got1[1] in ("bad", "eof") or (got1 == (plain, "") == by_gzip(path))
            with path.open("r+b") as file:
                file.seek(at)
                file.write(whole[at : at + 1])
        holds(await outcomes(path), plain, "")

    asyncio.run(main())


def test_a_large_file_truncated_anywhere(tmp_path: Path) -> None:
    draw = random.Random(4)
    first = gzip.compress(TEXT, 6)
    whole = first + gzip.compress(TEXT[::-1], 1)
    path = tmp_path / "f.gz"
    path.write_bytes(whole)

    async def main() -> None:
        for n in sorted(draw.sample(range(1, len(whole)), 60), reverse=True):
            os.truncate(path, n)
            holds(await outcomes(path), TEXT + TEXT[::-1], "" if n == len(first) else "eof")

    asyncio.run(main())


def test_joined_from_good_parts_and_bad(tmp_path: Path, tool: Command) -> None:
    """Members, NULs and garbage in any order: what CPython's gzip says, on every way."""
    draw = random.Random(5)
    small = gzip.compress(b"a small member\n" * 9, mtime=0)
    parts: list[bytes] = [
        *(small, small, small, gzip.compress(TEXT[:40_000]), EMPTY),
        *(b"\0", bytes(511), bytes(70_000), b"x", b"\x1f", b"\x1f\x8b", b"\x1f\x8b\x08"),
        *(small[:20], small[:-1], b"PK\x03\x04", b"\n", b"\0\x1f"),
    ]
    seen = set()
    files, verdicts = [], []

    async def main() -> None:
        for i in range(250):
            path = tmp_path / str(i)
            path.write_bytes(b"".join(draw.choices(parts, k=draw.randrange(1, 6))))
            plain, kind = by_gzip(path)
            assert isinstance(plain, bytes)
            got = await outcomes(path)
            # gzip has no words for it: the magic's first byte, and then no more.
            kinds = {error for _, error in got.values()}
            assert len(kinds) == 1, (i, got)
            assert (not kind) == (kinds == {""}), (i, kind, kinds)
            for way, (what, _) in got.items():
                if not kind:
                    assert what == (len(plain) if isinstance(what, int) else plain), (i, way)
                elif isinstance(what, bytes) and way != "read":
                    assert what.startswith(plain) or plain.startswith(what), (i, way)
            seen.update(kinds)
            files.append(path)
            verdicts.append(not kind)

    asyncio.run(main())
    assert seen == {"", "bad", "eof"}
    assert tool.verdicts(files) == verdicts


# ---- files that change --------------------------------------------------------------------


def test_a_file_shrinks(tmp_path: Path, run: Any) -> None:
    """What was read by then is right; the rest is missing, and that is said."""
    path = tmp_path / "f.gz"
    whole = gzip.compress(random.Random(1).randbytes(3_000_000), 1)

    async def main() -> None:
        for mode in ("rb", "rt"):
            path.write_bytes(whole)
            async with agz.open(path, mode, chunk_size=5000, **latin(mode)) as file:
                first = await file.read(1000)
                os.truncate(path, len(whole) // 2)
                with pytest.raises(EOFError):
                    while piece := await file.read(100_000):
                        first += piece
                plain = gzip.decompress(whole)
                assert plain.startswith(first if mode == "rb" else first.encode("latin-1"))
                assert len(first) > 1000
                os.truncate(path, 0)
                await file.seek(0)
                assert len(await file.read()) == 0  # an empty file is one of no members

    run(main())


def latin(mode: str) -> dict[str, str]:
    return {"encoding": "latin-1", "newline": ""} if "t" in mode else {}


def test_a_file_is_cut_and_mended_by_another_thread(tmp_path: Path) -> None:
    """While it is read over and over: all of it, or an error, and no crash."""
    path = tmp_path / "f.gz"
    whole = gzip.compress(TEXT * 4, 1)
    path.write_bytes(whole)
    stop = threading.Event()

    def change() -> None:
        draw = random.Random(2)
        while not stop.is_set():
            os.truncate(path, draw.randrange(len(whole)))
            path.write_bytes(whole)

    async def main() -> set[str]:
        kinds = set()
        for i in range(300):
            call: Any = (agz.read, agz.verify)[i % 2]
            got, kind = await at_once(call(path, chunk_size=4096))
            assert kind or got in (TEXT * 4, len(TEXT * 4), b"", 0)
            kinds.add(kind)
        return kinds

    thread = threading.Thread(target=change)
    thread.start()
    try:
        assert asyncio.run(main()) <= {"", "eof", "bad"}
    finally:
        stop.set()
        thread.join()


def test_a_file_vanishes(tmp_path: Path, run: Any) -> None:
    """Or another takes its name: the one that was opened is read."""
    path = tmp_path / "f.gz"
    noise = random.Random(6).randbytes(2_000_000)

    async def main() -> None:
        for replace in (False, True):
            path.write_bytes(gzip.compress(noise, 1))
            async with agz.open(path, chunk_size=5000) as file:
                assert await file.read(10) == noise[:10]
                path.unlink()
                if replace:
                    path.write_bytes(gzip.compress(b"another"))
                assert await file.read() == noise[10:]
                await file.seek(0)
                assert await file.read(10) == noise[:10]
            if not replace:
                with pytest.raises(FileNotFoundError):
                    await agz.read(path)

    run(main())


def test_a_file_grows(tmp_path: Path, run: Any) -> None:
    """By members: each is there to be read when it is whole; before that it is not."""
    path = tmp_path / "f.gz"
    path.write_bytes(b"")

    async def main() -> None:
        async with agz.open(path) as file:
            assert await file.read() == b""
            for i in range(5):
                with path.open("ab") as target:
                    target.write(gzip.compress(b"%d\n" % i * 50_000))
                assert await file.read() == b"%d\n" % i * 50_000
            with path.open("ab") as target:
                target.write(gzip.compress(TEXT)[:1000])
            with pytest.raises(EOFError):
                await file.read()

    run(main())


# ---- what is no regular file --------------------------------------------------------------


def test_what_is_no_regular_file(tmp_path: Path, run: Any) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        here = os.getcwd()
        os.chdir(tmp_path)  # a socket's path must be short
        server.bind("socket")
        os.chdir(here)
        (tmp_path / "loop").symlink_to("loop2")
        (tmp_path / "loop2").symlink_to("loop")
        (tmp_path / "dangling").symlink_to("nowhere")
        (tmp_path / "folder").symlink_to(".")
        kinds: dict[str | Path, str] = {
            tmp_path / "socket": "ENXIO",
            tmp_path / "loop": "ELOOP",
            tmp_path / "dangling": "ENOENT",
            tmp_path / "folder": "EISDIR",
            tmp_path: "EISDIR",
            "/dev/null": "",
            "/dev/zero": "bad",
            tmp_path / ("x" * 300): "ENAMETOOLONG",
        }

        async def main() -> None:
            for path, kind in kinds.items():
                calls: list[Any] = [agz.read, agz.verify, agz.inspect]
                assert [(await at_once(call(path)))[1] for call in calls] == [kind] * 3, path
                for mode in ("rb", "rt"):
                    file: Any = agz.open(path, mode)
                    assert (await in_steps(file, file.readline))[1] == kind, path
            for path in (tmp_path / "socket", tmp_path / "loop", tmp_path / "folder"):
                for mode in ("wb", "ab"):
                    with pytest.raises(OSError) as raised:  # noqa: PT011 - its number is asked
                        await agz.open(path, mode).open()
                    assert kind_of(raised.value) == kinds[path]
            await agz.write("/dev/null", TEXT)

        run(main())


def test_padding_without_end(tmp_path: Path, run: Any) -> None:
    """A member, then NULs for ever: nothing is kept, others run, and it can be cancelled."""

    class Endless:
        def __init__(self) -> None:
            self.given = 0

        async def read(self, size: int = -1) -> bytes:
            self.given += 1
            return gzip.compress(b"data") if self.given == 1 else bytes(size)

    async def main() -> None:
        source = Endless()
        async with agz.open(None, fileobj=source, max_rewind_cache_size=1) as file:
            assert await file.read(4) == b"data"
            task = asyncio.create_task(file.read(1))
            while source.given < 100:
                await asyncio.sleep(0)
            assert not task.done()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    run(main())


def test_links_are_followed(tmp_path: Path, run: Any) -> None:
    target = tmp_path / "target.gz"
    target.write_bytes(gzip.compress(TEXT))
    (tmp_path / "one").symlink_to("target.gz")
    (tmp_path / "two").symlink_to("one")

    async def main() -> None:
        assert await agz.read(tmp_path / "two") == TEXT
        await agz.write(tmp_path / "two", b"through it")
        assert (tmp_path / "two").is_symlink()
        assert gzip.decompress(target.read_bytes()) == b"through it"

    run(main())


def test_paths_that_are_not_utf_8(tmp_path: Path, run: Any, tool: Command) -> None:
    """As bytes, or as Python decodes them."""

    async def main() -> None:
        for raw in (b"\xff\xfe.gz", b"a\xc3.gz", b"new\nline\x1b[31m.gz", b"-rf.gz", b" .gz"):
            name = os.fsencode(tmp_path) + b"/" + raw
            await agz.write(name, TEXT)
            assert await agz.read(os.fsdecode(name)) == TEXT
            assert await agz.read(Path(os.fsdecode(name))) == TEXT
            assert gzip.decompress(Path(os.fsdecode(name)).read_bytes()) == TEXT
            async with agz.open(name) as file:
                assert file.name == name
            assert tool.verdicts([Path(os.fsdecode(name))]) == [True]
            with pytest.raises(FileNotFoundError) as raised:
                await agz.read(name + b"no")
            assert raised.value.filename == name + b"no"
            str(raised.value).encode("utf-8")
            os.unlink(name)

    run(main())


# ---- the work that is done ----------------------------------------------------------------

COUNTED = """
import asyncio, gzip, io, sys, zlib
import agz
kind, n = sys.argv[1], int(sys.argv[2])
member = gzip.compress(b"a line of text\\n" * 10, mtime=0)
empty = gzip.compress(b"", mtime=0)
name = b"\\x1f\\x8b\\x08\\x08" + bytes(6)
data = {
    "members": member * n,
    "empty members": empty * n,
    "padding": member + bytes(20 * n),
    "a long name": name + b"a" * (20 * n) + b"\\0" + empty[10:],
    "zeros": gzip.compress(bytes(5000 * n)),
    "stored": zlib.compressobj(0, zlib.DEFLATED, 31),
}[kind]
if kind == "stored":
    data = b"".join([data.compress(b"x" * 10 + b"\\n") + data.flush(zlib.Z_FULL_FLUSH)
                     for _ in range(n)]) + data.flush()
open(sys.argv[3], "wb").write(data)

calls = 0
def count(frame, event, arg):
    global calls
    calls += event in ("call", "c_call")

async def lines(**options):
    async with agz.open(**options) as file:
        async for line in file:
            pass

class Source:
    def __init__(self):
        self.raw = io.BytesIO(data)
    async def read(self, size=-1):
        return self.raw.read(min(size, 4096))

def read_so_far():
    with open("/proc/self/io") as io_counts:
        return int(io_counts.readline().split()[1])

async def items():
    for i in range(0, len(data), 4096):
        yield data[i : i + 4096]

async def main():
    await lines(filename=None, fileobj=Source())
    async for _ in agz.decompress_chunks(items()):
        pass
    decoder = agz.GzipDecoder()
    for _ in decoder.feed(data):
        pass

before = read_so_far()
asyncio.run(agz.verify(sys.argv[3]))
bytes_read = read_so_far() - before
sys.setprofile(count)
asyncio.run(main())
sys.setprofile(None)
print(calls, bytes_read - len(data))
"""


@pytest.mark.parametrize(
    "kind", ["members", "empty members", "padding", "a long name", "zeros", "stored"]
)
def test_work_is_linear(tmp_path: Path, kind: str) -> None:
    """Twice the input, and the output, is at most twice the calls, and each byte of a file is
    read once."""
    counts = []
    for n in (2000, 4000):
        calls, beyond = map(int, python(COUNTED, kind, n, tmp_path / "f.gz").split())
        counts.append(calls)
        assert beyond < 100_000
    assert counts[1] <= 2.2 * counts[0]
