"""An image file: PNG or JPEG, as bytes, with its size; nothing is decoded here."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

from ..errors import DataError

PNG = b"\x89PNG\r\n\x1a\n"
JPEG = b"\xff\xd8\xff"
FRAMES = {*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC}
"""JPEG segments that give the size."""


@dataclass(frozen=True)
class PhotoFile:
    content: bytes
    media_type: str
    width: int
    height: int


def read_photo(path: str | Path) -> PhotoFile:
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise DataError(f"cannot be read ({error.strerror or error})", path) from error
    try:
        if content.startswith(PNG):
            return PhotoFile(content, "image/png", *_checked(struct.unpack(">II", content[16:24])))
        if content.startswith(JPEG):
            return PhotoFile(content, "image/jpeg", *_checked(_jpeg_size(content)))
    except (struct.error, ValueError):
        raise DataError("expected a whole PNG or JPEG image, got one that is cut short or damaged", path) from None
    raise DataError(f"expected a PNG or JPEG image, got a file that begins with {content[:8]!r}", path)


def _checked(size: tuple[int, int]) -> tuple[int, int]:
    if min(size) <= 0:
        raise ValueError
    return size


def _jpeg_size(content: bytes) -> tuple[int, int]:
    at = 2
    while True:
        mark, kind, length = struct.unpack(">BBH", content[at : at + 4])
        if mark != 0xFF:
            raise ValueError
        if kind in FRAMES:
            height, width = struct.unpack(">HH", content[at + 5 : at + 9])
            return width, height
        # Between segments there may be fill bytes of 0xFF.
        at += 1 if kind == 0xFF else 2 + length
