#!/usr/bin/env python3
"""Makes the seed corpus, the same each time: seeds.py FOLDER, with a folder in it for each
target. What an input begins with is drawn in fuzz.h; the choices stand in the targets."""

import gzip
import itertools
import struct
import sys
import zlib
from pathlib import Path

WORDS = (
    b"the quick brown fox jumps over the lazy dog; naive na\xc3\xafve \xe5\x90\x8d\xe5\x89\x8d\r\n"
)
TEXT = b"".join(b"%d %s" % (i * i, WORDS[i % 40 :]) for i in range(60))
DATA = [b"", b"a", TEXT[:300], bytes(5000), TEXT, bytes(range(256)) * 2]
HEADER = b"\x1f\x8b\x08%c\x01\x02\x03\x04\x00\x03"


def headers() -> list[bytes]:
    made = []
    for flags in range(32):
        header = HEADER % flags
        if flags & 4:
            header += b"\x08\x00ab\x04\x00wxyz"
        if flags & 8:
            header += b"name\xe9.txt\x00"
        if flags & 16:
            header += b"a comment\x00"
        if flags & 2:
            header += struct.pack("<H", zlib.crc32(header) & 0xFFFF)
        made.append(header)
    return made


def deflate(data: bytes, level: int, strategy: int = zlib.Z_DEFAULT_STRATEGY) -> bytes:
    packer = zlib.compressobj(level, zlib.DEFLATED, -15, 8, strategy)
    half = len(data) // 2
    return (
        packer.compress(data[:half])
        + packer.flush(zlib.Z_SYNC_FLUSH)
        + packer.compress(data[half:])
        + packer.flush()
    )


def member(header: bytes, data: bytes, packed: bytes) -> bytes:
    return header + packed + struct.pack("<II", zlib.crc32(data), len(data))


def files() -> list[bytes]:
    plain = HEADER % 0
    made = [gzip.compress(data, 9, mtime=0) for data in DATA]
    made += [member(plain, TEXT, deflate(TEXT, 6, strategy)) for strategy in range(5)]
    made += [member(plain, data, deflate(data, 0)) for data in DATA]
    made += [member(header, TEXT[:50], deflate(TEXT[:50], 6)) for header in headers()[::5]]
    # Members, padding, and what is no member.
    made.append(made[0] + made[1] + bytes(5) + made[2])
    made.append(b"".join(made[1:4]) * 3)
    made.append(made[2] + b"garbage")
    made.append(made[4][:-20])
    made.append(made[2][:-8] + bytes(8))
    # Blocks made by hand: codes that are incomplete, a distance too far, a block type 3.
    for bits in (b"\x05\xe0\x81\x08\x00\x00\x00\x00\x00\x20\x7f\xeb\x0b", b"\x63\x00\x02", b"\x07"):
        made.append(plain + bits + bytes(8))
    return made


def texts() -> list[bytes]:
    edges = [0x7F, 0x80, 0x7FF, 0x800, 0xD7FF, 0xE000, 0xFFFF, 0x10000, 0x10FFFF]
    made = [b"", TEXT[:200], b"x" * 70 + b"\n", "".join(map(chr, edges)).encode()]
    made += [
        b"\xc0\x80", b"\xe0\x80\x80", b"\xed\xa0\x80", b"\xf0\x80\x80\x80", b"\xf4\x90\x80\x80",
        b"\xff", "é".encode()[:1], "名".encode()[:2], "😀".encode()[:3],
    ]  # fmt: skip
    made += [b"".join(ends) * 20 for ends in itertools.permutations([b"\r", b"\n", b"\r\n", b"ab"])]
    return made


def command_lines() -> list[bytes]:
    lines = """
        compress a b|compress -k --level 9 a|compress --level=-1 a|compress -c -n -9 --fast a
        compress --threads 4 -f -q a b c|compress -o x a|compress -o - a b|decompress -o x a.gz
        cat a -- -b|cat -|inspect --json a.gz|verify -q a.gz b.gz|verify|bogus|--help|--version
        compress --lev 3 a|compress --threads 0|decompress -9 a|compress --level 99999999999 a
        compress \x1b[31m \u202e \\ \r\n|compress -k -- --keep|compress -kfq -o - -|-- cat
    """
    return [line.strip().encode() for row in lines.splitlines() for line in row.split("|")]


def corpus() -> dict[str, list[bytes]]:
    number = itertools.count(1)

    def start(*choices: int) -> bytes:
        return struct.pack(">I", next(number) * 0x9E3779B1 % 2**32) + bytes(choices)

    made: dict[str, list[bytes]] = {
        "header": [start() + header + b"rest" for header in headers()],
        "decoder": [start(c) + file for file in files() for c in (0, 1, 12)],
        "encoder": [
            start(level, level % 6, level % 5, level * 37 % 256) + data
            for data in DATA
            for level in range(11)
        ],
        "text": [start(lead) + text for text in texts() for lead in (0, 61)],
        "lines": [start() + text for text in texts()],
        "cursor": [],
        "arguments": [line.replace(b" ", b"\0") for line in command_lines() if line],
    }
    # A cursor's calls stand among the text: appends, lines, and each other call in turn.
    for newline, text in itertools.product(range(4), texts()):
        calls = b"".join(
            bytes([0, 9]) + text[i : i + 9] + bytes([11 + i % 5 * 16, 7, 3 + i // 9 % 8, i % 11])
            for i in range(0, len(text), 9)
        )
        made["cursor"].append(start(newline) + calls)
    return made


def main() -> None:
    for target, inputs in corpus().items():
        folder = Path(sys.argv[1]) / target
        folder.mkdir(parents=True, exist_ok=True)
        for n, data in enumerate(inputs):
            (folder / f"{n:03}").write_bytes(data)


if __name__ == "__main__":
    main()
