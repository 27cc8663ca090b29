"""A lock on a full disk is a lock like any other: held once, and released at the end."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from nlil.data.locks import FileLocked, locked


def test_a_full_disk_does_not_keep_the_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(handle: int, content: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    file = tmp_path / ".lock"
    with monkeypatch.context() as context:
        context.setattr(os, "write", full)
        with locked(file):
            assert file.exists()
            with pytest.raises(FileLocked, match="another process"), locked(file):
                pass
    assert not file.exists()
    with locked(file):
        pass


def test_a_folder_that_cannot_be_written_any_more_does_not_keep_the_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(path: Path, missing_ok: bool = False) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    file = tmp_path / ".lock"
    with monkeypatch.context() as context, pytest.raises(PermissionError), locked(file):
        context.setattr(Path, "unlink", refused)
    with locked(file):
        pass
