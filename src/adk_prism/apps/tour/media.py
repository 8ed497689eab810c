"""Small synthetic files, made by arithmetic alone: an image and a tone."""

from __future__ import annotations

import io
import math
import struct
import wave
import zlib

PCM_RATE = 24_000
WAV_RATE = 8_000


def png(side: int) -> bytes:
    """Return a square image of that many pixels a side, in the colours of a prism.

    It is stored without compression, so that its size follows from `side` and from nothing else.
    """
    rows = b"".join(b"\x00" + _row(y, side) for y in range(side))
    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    body = _block(b"IHDR", header) + _block(b"IDAT", zlib.compress(rows, 0)) + _block(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


def wav(seconds: float) -> bytes:
    """Return a sine tone as a WAV file: mono, 16 bit."""
    file = io.BytesIO()
    with wave.open(file, "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(WAV_RATE)
        out.writeframes(pcm(seconds, WAV_RATE))
    return file.getvalue()


def pcm(seconds: float, rate: int = PCM_RATE, pitch: int = 440) -> bytes:
    """Return a sine tone as raw 16-bit samples, least significant byte first."""
    samples = (math.sin(2 * math.pi * pitch * i / rate) for i in range(int(seconds * rate)))
    return b"".join(struct.pack("<h", round(8_000 * sample)) for sample in samples)


def _row(y: int, side: int) -> bytes:
    return b"".join(bytes((255 * x // side, 255 * y // side, 160)) for x in range(side))


def _block(kind: bytes, content: bytes) -> bytes:
    check = zlib.crc32(kind + content)
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", check)
