"""Reading much text in one call: characters that become wider on the way, edges of pieces,
faults and wrong bytes after megabytes, cancellation wherever the call is suspended."""

import gzip
import os
import threading
from pathlib import Path
from typing import Any

import agz
import pytest
from support import Pieces, cancelled_at

# More than is kept for going back; a line end and a wide character at every kind of edge.
PART = "".join(f"line {i}\r\n" if i % 3 else "\r" * (i % 5) + "\n" for i in range(120_000))
TEXTS = {
    "ascii": PART * 2,
    "latin-1": PART + "ä\r" + PART.replace("line", "zäh"),
    "utf-8": PART + "ÿ" + PART.replace("line", "名") + "😀" + PART.replace("line", "\U0010ffff"),
    "utf-16": PART + "名" + PART,
}
NEWLINES = [None, "", "\n"]


def packed(tmp_path: Path, data: bytes) -> Path:
    path = tmp_path / "text.gz"
    path.write_bytes(gzip.compress(data, 1))
    return path


def expected(path: Path, encoding: str, newline: str | None) -> str:
    with gzip.open(path, "rt", encoding=encoding, newline=newline) as stream:
        return stream.read()


@pytest.mark.parametrize("encoding", TEXTS)
@pytest.mark.parametrize("newline", NEWLINES)
def test_all_of_it(tmp_path: Path, run: Any, encoding: str, newline: str | None) -> None:
    path = packed(tmp_path, TEXTS[encoding].encode(encoding))
    want = expected(path, encoding, newline)

    async def main() -> None:
        options: dict[str, Any] = {"encoding": encoding, "newline": newline}
        async with agz.open(path, "rt", **options) as file:
            assert await file.read() == want
            assert await file.read() == ""
        async with agz.open(path, "rt", **options) as file:
            size = len(want) - 7
            assert await file.read(size) == want[:size]
            assert await file.read(size) == want[size:]
        # Its size is not known before: the room for it grows.
        source = Pieces(path.read_bytes(), 100_000)
        async with agz.open(None, "rt", fileobj=source, **options) as file:
            assert await file.read() == want

    run(main())


def test_all_of_a_pipe(tmp_path: Path, run: Any) -> None:
    path = packed(tmp_path, TEXTS["utf-8"].encode())
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    async def main() -> str:
        async with agz.open(pipe, "rt") as file:
            return await file.read()

    writer = threading.Thread(target=lambda: pipe.write_bytes(path.read_bytes()))
    writer.start()
    assert run(main()) == expected(path, "utf-8", None)
    writer.join()


@pytest.mark.parametrize("where", ["early", "late"])
def test_wrong_bytes(tmp_path: Path, run: Any, where: str) -> None:
    good = TEXTS["utf-8"].encode()
    bad = b"\xe5\x90\xff" + good[:10] if where == "late" else b"\xff"
    data = good + bad if where == "late" else PART[:100_000].encode() + bad + good
    path = packed(tmp_path, data)
    with pytest.raises(UnicodeDecodeError) as plain:
        data.decode()

    async def main() -> None:
        async with agz.open(path, "rt", newline="") as file:
            first = await file.readline()
            for _ in range(2):
                with pytest.raises(UnicodeDecodeError) as caught:
                    await file.read()
                assert caught.value.start + len(first) == plain.value.start
                assert caught.value.reason == plain.value.reason
            # The place is where it was.
            assert await file.tell() == len(first)
            assert await file.read(9) == data[len(first) :][:9].decode()

    run(main())


def test_what_comes_before_a_fault(tmp_path: Path, run: Any) -> None:
    text = TEXTS["utf-8"]
    path = packed(tmp_path, text.encode())
    whole = path.read_bytes()
    path.write_bytes(whole[:-8] + bytes(4) + whole[-4:])  # a CRC-32 that is wrong

    async def main() -> None:
        async with agz.open(path, "rt", newline="") as file:
            first = await file.readline()
            with pytest.raises(gzip.BadGzipFile):
                await file.read()
            assert first + await file.read() == text
            with pytest.raises(OSError, match="broken"):
                await file.read()

    run(main())


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_cancelled_wherever_it_is_suspended(tmp_path: Path, run: Any, encoding: str) -> None:
    path = packed(tmp_path, TEXTS[encoding].encode(encoding))
    want = expected(path, encoding, "")

    async def main() -> None:
        n, cancelled = 1, True
        while cancelled:
            async with agz.open(path, "rt", encoding=encoding, newline="") as file:
                first = await file.readline()
                place = await file.tell()
                cancelled, got = await cancelled_at(lambda file=file: file.read(), n)
                if cancelled:
                    assert await file.tell() == place
                    assert await file.readline() == want[len(first) :].split("\n")[0] + "\n"
                    await file.seek(place)
                    got = await file.read()
                assert first + got == want
            n = n + 1 if n < 10 else n * 2
        assert n > 3

    run(main())
