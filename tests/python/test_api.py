"""The public names are those of aiogzip 2.0.0, with its parameters, kinds and defaults; what
agz says of itself (docs, version, the stub of the extension) is true."""

import copy
import dataclasses
import importlib.metadata
import importlib.resources
import inspect
import pickle
import subprocess
import sys
import weakref
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

import agz
import agz.codec
import aiogzip
import aiogzip.codec
import pytest
from support import Collect, python

# Of the peer's own making: nothing that a program uses.
PRIVATE = {"BUFFER_COMPACTION_THRESHOLD"}


def members(kind: type) -> dict[str, Any]:
    return {
        name: getattr(kind, name)
        for name in dir(kind)
        if (not name.startswith("_") or name in ("__aiter__", "__anext__", "__aenter__"))
        and name not in PRIVATE
        and name not in dir(object)
    }


def parameters(thing: Any) -> list[tuple[str, Any, Any]]:
    return [(p.name, p.kind, p.default) for p in inspect.signature(thing).parameters.values()]


CLASSES = [
    name
    for name in aiogzip.__all__
    if inspect.isclass(getattr(aiogzip, name)) and name != "ZlibEngine"
]
FUNCTIONS = [name for name in aiogzip.__all__ if inspect.isfunction(getattr(aiogzip, name))]
METHODS = [
    (name, method)
    for name in CLASSES
    for method, value in members(getattr(aiogzip, name)).items()
    if callable(value) and not issubclass(getattr(aiogzip, name), BaseException)
]


def test_names() -> None:
    assert sorted(agz.__all__) == sorted(aiogzip.__all__)
    assert len(agz.__all__) == 31
    assert sorted(agz.codec.__all__) == sorted(aiogzip.codec.__all__)
    for name in agz.__all__:
        assert hasattr(agz, name)


@pytest.mark.parametrize("name", [name for name in aiogzip.__all__ if name.startswith("GZIP_")])
def test_constants(name: str) -> None:
    assert getattr(agz, name) == getattr(aiogzip, name)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name: str) -> None:
    mine, theirs = getattr(agz, name), getattr(aiogzip, name)
    assert parameters(mine) == parameters(theirs)
    assert inspect.iscoroutinefunction(mine) == inspect.iscoroutinefunction(theirs)
    assert mine.__doc__


@pytest.mark.parametrize("name", CLASSES)
def test_classes(name: str) -> None:
    mine, theirs = getattr(agz, name), getattr(aiogzip, name)
    assert mine.__name__ == name
    assert mine.__module__.partition(".")[0] == "agz"
    assert mine.__doc__
    assert set(members(theirs)) <= set(members(mine))
    if not issubclass(theirs, BaseException):
        assert parameters(mine) == parameters(theirs)
    for member, value in members(theirs).items():
        if isinstance(value, int):
            assert getattr(mine, member) == value
        if isinstance(inspect.getattr_static(theirs, member), property):
            assert inspect.isdatadescriptor(inspect.getattr_static(mine, member)), member


@pytest.mark.parametrize(("name", "method"), METHODS)
def test_methods(name: str, method: str) -> None:
    mine = getattr(getattr(agz, name), method)
    theirs = getattr(getattr(aiogzip, name), method)
    if not method.startswith("__"):
        assert parameters(mine)[1:] == parameters(theirs)[1:]
    if not method.startswith("__") and "With" not in name and name != "CodecOperation":
        assert mine.__doc__, method


def test_annotations_can_be_evaluated() -> None:
    for name in FUNCTIONS + CLASSES:
        assert get_type_hints(getattr(agz, name)) is not None
    for name, method in METHODS:
        hints = get_type_hints(getattr(getattr(agz, name), method))
        assert hints or not inspect.isfunction(getattr(getattr(agz, name), method)), method


def test_a_filename_may_be_any_path() -> None:
    for name in ("open", "read", "write", "inspect", "verify", "AsyncGzipFile"):
        filename = get_type_hints(getattr(agz, name))["filename"]
        assert set(get_args(filename)) >= {str, bytes, type(None)}
        assert any(issubclass(Path, get_origin(kind) or kind) for kind in get_args(filename))


@pytest.mark.parametrize("name", CLASSES)
def test_records(name: str) -> None:
    mine, theirs = getattr(agz, name), getattr(aiogzip, name)
    assert dataclasses.is_dataclass(mine) == dataclasses.is_dataclass(theirs)
    if not dataclasses.is_dataclass(theirs):
        return
    fields, wanted = (
        [(field.name, field.default, str(field.type)) for field in dataclasses.fields(record)]
        for record in (mine, theirs)
    )
    assert str(fields).replace("agz._records", "aiogzip._metadata") == str(wanted)
    one = mine(*range(len(fields)))
    assert one == mine(*range(len(fields)))
    assert hash(one) == hash(mine(*range(len(fields))))
    for attribute in (fields[0][0], "other"):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(one, attribute, 5)
        with pytest.raises(dataclasses.FrozenInstanceError):
            delattr(one, attribute)
    assert not hasattr(one, "__dict__")
    assert weakref.ref(one)() is one
    assert pickle.loads(pickle.dumps(one)) == copy.deepcopy(one) == one
    assert get_type_hints(mine).keys() == get_type_hints(theirs).keys()


def test_exceptions() -> None:
    mine = [kind.__name__ for kind in agz.ConcurrentOperationError.__mro__]
    assert mine == [kind.__name__ for kind in aiogzip.ConcurrentOperationError.__mro__]


def test_protocols_can_be_asked_for() -> None:
    assert isinstance(Collect(), agz.WithAsyncWrite)
    assert not isinstance(Collect(), agz.WithAsyncRead)
    assert not isinstance(Collect(), agz.WithAsyncReadWrite)
    assert isinstance(agz.GzipEncoder().start(), agz.CodecOperation)


def test_an_operation_of_ones_own() -> None:
    """As a subclass it is an iterator."""

    class Nothing(agz.CodecOperation):
        def __next__(self) -> bytes:
            raise StopIteration

        def close(self) -> None:
            pass

    assert list(Nothing()) == []
    assert isinstance(Nothing(), agz.CodecOperation)


@pytest.mark.parametrize("kind", [agz.GzipEncoder, agz.GzipDecoder])
def test_codecs_as_objects(kind: Any) -> None:
    codec = kind()
    codec.tag = 1
    assert codec.tag == 1
    assert weakref.ref(codec)() is codec
    for way in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match=kind.__name__):
            way(codec)


def test_files_as_objects(tmp_path: Path) -> None:
    """Attributes are those there are; a subclass may have more."""

    class Mine(agz.AsyncGzipTextFile):
        pass

    file: Any
    for file in (agz.open(tmp_path / "f", "rb"), agz.open(tmp_path / "f", "rt")):
        with pytest.raises(AttributeError):
            file.tag = 1
        for name in ("name", "closed", "mtime"):
            with pytest.raises(AttributeError):
                setattr(file, name, 1)
    mine: Any = Mine(tmp_path / "f")
    mine.tag = 1
    assert mine.tag == 1


def test_version() -> None:
    assert agz.__version__ == importlib.metadata.version("agz")


def test_an_import_brings_nothing_else() -> None:
    """Nor does it take time: where asyncio is, agz imports its own modules alone."""
    python("""
import asyncio, sys
known = {*sys.modules, "__future__"}
import agz
more = [name for name in sys.modules if name not in known and name.split(".")[0] != "agz"]
assert not more, more
""")


def test_the_package_is_typed() -> None:
    files = importlib.resources.files("agz")
    assert files.joinpath("py.typed").is_file()
    assert files.joinpath("_agz.pyi").is_file()


def test_the_stub_is_true(tmp_path: Path) -> None:
    """What the stub of the extension says, is there; nor is there more."""
    command = [sys.executable, "-m", "mypy.stubtest", "--ignore-disjoint-bases", "agz._agz"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
