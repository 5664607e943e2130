"""The command under test: AGZ_COMMAND, or the package's own binary, or the first in PATH."""

import importlib.util
import os
import shutil
import signal
from pathlib import Path

import pytest

# What nohup, or a shell for its job in the background, has told to be ignored would be ignored by
# all that the tests start. A handler is not inherited.
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, lambda *_: None)
signal.signal(signal.SIGINT, signal.default_int_handler)


def find_command() -> str | None:
    if command := os.environ.get("AGZ_COMMAND"):
        return command
    spec = importlib.util.find_spec("agz")
    for folder in (spec and spec.submodule_search_locations) or ():
        if (binary := Path(folder) / "_command" / "agz").exists():
            return str(binary)
    return shutil.which("agz")


@pytest.fixture(scope="session")
def command(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder's `agz`, so that the folder can stand in PATH."""
    found = find_command()
    if found is None:
        pytest.fail("there is no command agz: install the package, or set AGZ_COMMAND")
    link = tmp_path_factory.mktemp("bin") / "agz"
    link.symlink_to(Path(found).resolve())
    return link
