"""Every protocol by name: those that come with adk-prism, and those that other packages install.

A package registers a `ProtocolSpec` under the entry point group `adk_prism.projections`. One that does not
load, or is not a whole spec, is left out and reported; everything else works.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, NamedTuple

from adk_prism.errors import UsageError
from adk_prism.extension import installed
from adk_prism.protocols import adk, ag_ui, ai_sdk, studio
from adk_prism.protocols.contract import Format, ProtocolSpec

# ---------------------------------------------------------------------------
# The protocols that come with adk-prism. Others can be installed: `protocols.registry` knows them all.

BUILT_IN: tuple[ProtocolSpec[Any], ...] = (adk.SPEC, ai_sdk.SPEC, studio.SPEC, ag_ui.SPEC)

# ---------------------------------------------------------------------------

GROUP = "adk_prism.projections"

_NAME = re.compile(r"[a-z][a-z0-9-]{0,39}")
_CALLABLES = ("make", "payload", "failure", "completed")


class Protocols(NamedTuple):
    """The protocols of this installation."""

    specs: dict[str, ProtocolSpec[Any]]
    faults: tuple[str, ...]
    """What is wrong with entry points that were left out, a sentence each."""


@cache
def protocols() -> Protocols:
    """Return all protocols by name, the built-in ones first."""
    annotators = installed().annotators()
    specs = {spec.name: spec.annotated_by(annotators) for spec in BUILT_IN}
    faults: list[str] = []
    for point in sorted(entry_points(group=GROUP), key=lambda each: each.name):
        try:
            spec = _checked(point, point.load())
            if spec.name in specs:
                raise ValueError(f"its name {spec.name!r} is taken")
            specs[spec.name] = spec.annotated_by(annotators)
        except (Exception, SystemExit) as error:  # another package's code: the rest has to work
            why = " ".join(str(error).split()) or type(error).__name__
            faults.append(
                f"The entry point {point.name!r} of {GROUP} ({point.value}) is left out: {why}."
            )
    return Protocols(specs, tuple(faults))


def _checked(point: EntryPoint, found: Any) -> ProtocolSpec[Any]:
    if not isinstance(found, ProtocolSpec):
        raise TypeError(f"it must name a ProtocolSpec, not {type(found).__name__}")
    if not _NAME.fullmatch(found.name):
        raise ValueError("its `name` must be lower-case letters, digits and hyphens")
    if found.name != point.name:
        raise ValueError(f"its `name` is {found.name!r}, but the entry point is {point.name!r}")
    for part in _CALLABLES:
        if not callable(getattr(found, part)):
            raise TypeError(f"its `{part}` must be callable")
    return found


def protocol(name: str) -> ProtocolSpec[Any]:
    """Look a protocol up. Raise `UsageError` for an unknown one."""
    found = protocols().specs.get(name)
    if found is not None:
        return found
    faults = "".join(f" {fault}" for fault in protocols().faults)
    raise UsageError(f"Unknown protocol {name[:40]!r}; expected {names()}.{faults}")


def names() -> str:
    """Return the names of all protocols, as a sentence lists them."""
    *most, last = (repr(name) for name in protocols().specs)
    return f"{', '.join(most)} or {last}"


def formats() -> list[Format]:
    """Return every protocol in every dialect."""
    return [
        spec.format(dialect)
        for spec in protocols().specs.values()
        for dialect in spec.dialects or ("",)
    ]
