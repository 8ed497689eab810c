"""Pieces: texts beside a run log, kept once per session. Their stored form, their digests and their limit.

Knows no storage and no meaning. A piece is identified by the digest of its redacted text, within its session
only: so one session cannot find out what another contains.
"""

from __future__ import annotations

import hashlib
import zlib

SESSION_BYTES = 64 * 1024**2
"""Stored bytes of the pieces of one session: a hundred times what a model's context holds."""

_SHORTEST = 256
"""Bytes from which a text is compressed: shorter ones gain nothing."""

_COMPRESSED = b"z"
"""First byte of a compressed piece; JSON cannot begin with it."""


def digest(text: bytes) -> bytes:
    """Return what identifies a text in its session."""
    return hashlib.blake2b(text, digest_size=15).digest()


def pack_piece(text: bytes) -> bytes:
    """Return a JSON text as it is stored."""
    if len(text) < _SHORTEST:
        return text
    packed = _COMPRESSED + zlib.compress(text, 1)
    return packed if len(packed) < len(text) else text


def unpack_piece(stored: bytes) -> bytes:
    """Return the JSON text of a stored piece."""
    return zlib.decompress(stored[1:]) if stored.startswith(_COMPRESSED) else stored
