"""Each engine alone to read with, chosen by AGZ_ENGINE: the tests of broken files, of every way
to read and of the decoder once more. What a writer makes does not depend on it; a name that is
no engine is refused."""

import gzip
import os
import subprocess
import sys
from pathlib import Path

import agz
import pytest
from agz import _agz
from support import FOREVER, python, source_text

ENGINES = [name for name, *_ in _agz.engines()]

HERE = Path(__file__).parent

AGAIN = {
    "test_errors.py": "truncated_at or flipped or header_crc or says or after or too_long",
    "test_reading.py": "every_way or one_byte or large or trailer or grows or bounds",
    "test_text.py": "every_way or linear",
    "test_codec.py": "decode or decoder or cost or bound or truncated or live or records",
    "test_loop.py": "each_suspension_of_a_source or held_back or large",
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("file", AGAIN)
def test_once_more(engine: str, file: str) -> None:
    run = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"),
            *("-k", f"({AGAIN[file]}) and not uvloop"),
            HERE / file,
        ],
        env={**os.environ, "AGZ_ENGINE": engine},
        cwd=HERE.parent.parent,
        capture_output=True,
        text=True,
        timeout=10 * FOREVER,
        check=False,
    )
    assert run.returncode == 0, run.stdout


WRITE = """
import asyncio, gzip, sys
import agz
text = open(sys.argv[1], "rb").read()
path = sys.argv[1] + ".gz"
async def main():
    for level in range(-1, 10):
        for fast in (False, True):
            async with agz.open(path, "wb", compresslevel=level, fast_compress=fast) as file:
                for i in range(0, len(text), 30_000):
                    await file.write(text[i : i + 30_000])
                    if i % 90_000 == 0:
                        await file.flush()
            assert gzip.open(path).read() == text
            assert await agz.read(path) == text
    await agz.write(path, text, mtime=1, original_filename="")
    assert open(path, "rb").read() == gzip.compress(text, 6, mtime=1)
asyncio.run(main())
print(agz.engine_info().decompression)
"""


@pytest.mark.parametrize("engine", ENGINES)
def test_writers_do_not_depend_on_it(tmp_path: Path, engine: str) -> None:
    path = tmp_path / "text"
    path.write_bytes(source_text(200_000))
    out = python(WRITE, path, AGZ_ENGINE=engine)
    assert engine in out or engine == "libdeflate"  # which is no engine for streams


@pytest.mark.parametrize("name", ["auto", ""])
def test_names_that_choose_nothing(name: str) -> None:
    code = "import agz; print(agz.engine_info().compression)"
    assert python(code, AGZ_ENGINE=name) == "zlib\n"


def test_a_name_that_is_none(tmp_path: Path) -> None:
    path = tmp_path / "f.gz"
    path.write_bytes(gzip.compress(b"x"))
    code = """
import asyncio, sys
import agz
for call in (
    lambda: asyncio.run(agz.read(sys.argv[1])),
    lambda: asyncio.run(agz.verify(sys.argv[1])),
    lambda: list(agz.GzipDecoder().feed(b"x")),
):
    try:
        call()
    except (ValueError, OSError) as error:
        assert "AGZ_ENGINE" in str(error), error
    else:
        raise AssertionError("no error")
asyncio.run(agz.write(sys.argv[1], b""))
"""
    assert python(code, path, AGZ_ENGINE="no such engine") == ""


def test_engine_info() -> None:
    info = agz.engine_info()
    assert info == agz.EngineInfo(info.compression, info.decompression, info.crc32)
    assert {info.compression, info.decompression} <= set(ENGINES)
    assert agz.EngineInfo("a", "b").crc32 == "stdlib-zlib"
