"""The exceptions for gzip data that is wrong.

Apart, because to import the `gzip` module takes time that few programs need to spend.
"""

from __future__ import annotations

from gzip import BadGzipFile as BadGzipFile


class TruncatedGzipFile(BadGzipFile, EOFError):
    """The stream ends before its end-of-stream marker."""
