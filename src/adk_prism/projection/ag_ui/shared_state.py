"""Session state for a client: a snapshot at the beginning, then JSON patches (RFC 6902).

Patches only `add`, which also replaces, and `remove` what is there: a client drops a whole patch of
which one operation fails. A value too large for a frame is replaced by its size.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Raw, json

from adk_prism.facts.model import NodeBegan, NodeFinished, RunBegan, StateChanged
from adk_prism.facts.strict_json import repair
from adk_prism.projection.ag_ui.frame_size import fits, too_large
from adk_prism.projection.ag_ui.frames import Frame, Json, StateDelta, StateSnapshot

_FORBIDDEN = {"__proto__": "(__proto__)"}
"""Keys that a JavaScript client refuses, and under which names they are sent."""


class SharedState:
    """The state of one run, as a client holds it."""

    def __init__(self) -> None:
        self._keys: set[str] = set()

    def begin(self, item: RunBegan) -> list[Frame]:
        """Return the state that the run begins with: what does not fit one frame follows as patches."""
        self._keys = {_key(key) for key in item.state}
        whole, rest, size = {}, [], 0
        for key, value in item.state.items():
            told = _value(value)
            size += len(bytes(told))
            if fits(size):
                whole[_key(key)] = told
            else:
                rest.append(_add(key, told))
        # One patch each: every value fits a frame, several may not.
        return [
            StateSnapshot(Raw(json.encode(whole))),
            *(StateDelta([operation]) for operation in rest),
        ]

    def change(self, item: StateChanged | NodeBegan | NodeFinished) -> list[Frame]:
        """Return the patches for a change; none where nothing changes."""
        if isinstance(item, StateChanged):
            return self._patches(item.delta)
        return self._patches(item.state, item.gone) if item.state or item.gone else []

    def _patches(self, values: Mapping[str, Raw], gone: Iterable[str] = ()) -> list[Frame]:
        patches: list[list[Json]] = [[]]
        size = 0
        for key, value in values.items():
            told = _value(value)
            size += len(bytes(told))
            if not fits(size):
                patches.append([])
                size = len(bytes(told))
            patches[-1].append(_add(key, told))
            self._keys.add(_key(key))
        for key in gone:
            if _key(key) in self._keys:
                self._keys.discard(_key(key))
                patches[-1].append({"op": "remove", "path": _pointer(key)})
        return [StateDelta(patch) for patch in patches if patch]


def _value(value: Raw) -> Raw:
    sound = repair(bytes(value) or b"null", parsed=True)
    return Raw(sound) if fits(len(sound)) else Raw(json.encode(too_large(len(sound))))


def _add(key: str, value: Raw) -> Json:
    return {"op": "add", "path": _pointer(key), "value": value}


def _key(key: str) -> str:
    return _FORBIDDEN.get(key, key)


def _pointer(key: str) -> str:
    return "/" + _key(key).replace("~", "~0").replace("/", "~1")
