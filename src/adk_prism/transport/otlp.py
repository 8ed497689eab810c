"""Spans as the body of an OTLP/HTTP request: protobuf, which every collector takes (opentelemetry-proto 1.x).

The few messages of a trace are written by hand: a field is a number, a wire type and a value.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from typing import Any, Protocol

_INTERNAL, _ERROR = 1, 2


class OtlpSpan(Protocol):
    """What a span must have."""

    @property
    def trace(self) -> bytes: ...
    @property
    def id(self) -> bytes: ...
    @property
    def parent(self) -> bytes: ...
    @property
    def name(self) -> str: ...
    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...
    @property
    def attributes(self) -> Mapping[str, Any]: ...
    @property
    def error(self) -> str | None: ...


def trace_request(spans: Iterable[OtlpSpan], service: str, version: str) -> bytes:
    """Return an `ExportTraceServiceRequest`."""
    scope = _text(1, "adk-prism") + _text(2, version)
    scoped = _field(1, scope) + b"".join(_field(2, _span(span)) for span in spans)
    resource = _attributes(1, {"service.name": service})
    return _field(1, _field(1, resource) + _field(2, scoped))


def _span(span: OtlpSpan) -> bytes:
    return b"".join(
        (
            _field(1, span.trace),
            _field(2, span.id),
            _field(4, span.parent) if span.parent else b"",
            _text(5, span.name),
            _number(6, _INTERNAL),
            _fixed(7, span.start),
            _fixed(8, span.end),
            _attributes(9, span.attributes),
            _field(15, _text(2, span.error) + _number(3, _ERROR))
            if span.error is not None
            else b"",
        )
    )


def _attributes(number: int, attributes: Mapping[str, Any]) -> bytes:
    return b"".join(
        _field(number, _text(1, name) + _field(2, _value(value)))
        for name, value in attributes.items()
    )


def _value(value: Any) -> bytes:
    match value:
        case str():
            return _text(1, value)
        case bool():
            return _number(2, int(value))
        case int():
            return _number(3, value)
        case float():
            return _key(4, 1) + struct.pack("<d", value)
        case list():
            return _field(5, b"".join(_field(1, _value(each)) for each in value))
        case _:
            return _text(1, str(value))


def _key(number: int, wire: int) -> bytes:
    return _varint(number << 3 | wire)


def _varint(value: int) -> bytes:
    value &= (1 << 64) - 1  # negative numbers are written in two's complement
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _field(number: int, payload: bytes) -> bytes:
    return _key(number, 2) + _varint(len(payload)) + payload


def _text(number: int, text: str) -> bytes:
    return _field(number, text.encode(errors="replace"))


def _number(number: int, value: int) -> bytes:
    return _key(number, 0) + _varint(value)


def _fixed(number: int, value: int) -> bytes:
    return _key(number, 1) + struct.pack("<Q", value)
