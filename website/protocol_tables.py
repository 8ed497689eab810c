"""The mapping tables in `docs/protocols`, written from the dispositions.

A page is prose with blocks between `<!-- generated: NAME -->` and `<!-- end -->`; only what is
between is written here, so that prose stays where its writers look for it. Refresh with

    python -m website.protocol_tables docs/protocols/*.md
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from pydantic.alias_generators import to_camel

from adk_prism.features.fields.dispositions import (
    CHUNKS,
    EVENTS,
    FIELDS,
    FINISH_REASONS,
    Carried,
    Chunk,
    ChunkDisposition,
    Declined,
    Disposition,
    Dropped,
    Emitted,
    Place,
    Projected,
    ag_ui_place,
)
from adk_prism.features.fields.report import read_inventory
from adk_prism.features.types.data_parts import METADATA_KEYS, SENT, TAKEN, DataPart
from adk_prism.protocols.ai_sdk.frames import FINISH_REASONS as REASONS
from adk_prism.protocols.ai_sdk.message_state import USAGE
from website.notice_kinds import ACTIVITIES, CUSTOM, NoticeKind

_BLOCK = re.compile(r"(<!-- generated: (?P<name>[^>]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def refresh(page: str) -> str:
    """Return a page with its generated blocks replaced. Raise `KeyError` for an unknown one."""
    return _BLOCK.sub(lambda found: found[1] + _write(found["name"]) + found[3], page)


def _write(name: str) -> str:
    block, *arguments = name.split()
    return "".join(f"{line}\n" for line in ("", *_BLOCKS[block](arguments), ""))


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield _row(head)
    yield _row(["---"] * len(head))
    for row in rows:
        yield _row([cell.replace("|", "\\|") for cell in row])


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _code(text: str) -> str:
    return f"`{text}`"


# --------------------------------------------------------------------------- fields


def _fields(types: Sequence[str]) -> Iterator[str]:
    """What is shown of these types, field by field."""
    yield from _table(
        ("ADK", "AI SDK"),
        (
            (_code(f"{name}.{field}"), "<br>".join(map(_place, row.places)))
            for name in types
            for field, row in FIELDS[name].items()
            if isinstance(row, Projected)
        ),
    )


def _ag_ui_fields(types: Sequence[str]) -> Iterator[str]:
    """The same for AG-UI; a place that several rows lead to is named once."""
    yield from _table(
        ("ADK", "AG-UI"),
        (
            (_code(f"{name}.{field}"), "<br>".join(_ag_ui_places(row)))
            for name in types
            for field, row in FIELDS[name].items()
            if isinstance(row, Projected)
        ),
    )


def _ag_ui_places(row: Projected) -> Iterable[str]:
    return dict.fromkeys(_place(ag_ui_place(place)) for place in row.places)


def _place(place: Place) -> str:
    where = f"{_code(place.frame)} {_code(place.key)}"
    return f"{where} ({place.how})" if place.how else where


def _besides(types: Sequence[str]) -> Iterator[str]:
    """What is shown of these types outside the metadata."""
    yield from _table(
        ("ADK", "AI SDK"),
        (
            (_code(f"{name}.{field}"), _place(place))
            for name in types
            for field, row in FIELDS[name].items()
            if isinstance(row, Projected)
            for place in row.places
            if place.frame != "finish"
        ),
    )


def _inside(_: Sequence[str]) -> Iterator[str]:
    """Types that are kept as they are, with all that is in them, and where."""
    found = {name: _home(rows.items()) for name, rows in FIELDS.items()}
    homes = {name: home for name, home in found.items() if home.count(".")}
    outermost = (
        (name, home)
        for name, home in homes.items()
        if not any(home.startswith(f"{other}.") for other in homes.values())
    )
    yield from _table(
        ("ADK", "AI SDK"), ((_code(name), f"`finish` {_code(home)}") for name, home in outermost)
    )


def _home(rows: Iterable[tuple[str, Disposition]]) -> str:
    """Return the key under which a whole type is found as it is; empty where it is not."""
    homes = set()
    for field, row in rows:
        place = row.places[-1] if isinstance(row, Projected) else None
        parent, _, key = place.key.rpartition(".") if place is not None else ("", "", "")
        if place is None or place.frame != "finish" or key not in (field, to_camel(field)):
            return ""
        homes.add(parent)
    return homes.pop() if len(homes) == 1 else ""


def _not_shown(_: Sequence[str]) -> Iterator[str]:
    """What the AI SDK's clients do not get, and why. The members of a carried type go with it."""
    yield from _reasons(
        "ADK",
        (
            (_code(f"{name}.{field}"), row.why)
            for name, rows in FIELDS.items()
            for field, row in rows.items()
            if isinstance(row, Carried | Dropped) and not row.why.startswith("part of")
        ),
    )


def _reasons(title: str, named: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Tell a reason that several things share once."""
    reasons: dict[str, list[str]] = {}
    for name, why in named:
        reasons.setdefault(why, []).append(name)
    yield from _table((title, "why"), ((", ".join(names), why) for why, names in reasons.items()))


def _types(_: Sequence[str]) -> Iterator[str]:
    """Every type of an event, with every field of it."""
    yield from _table(
        ("type", "fields"),
        (
            (_code(upstream.name), " ".join(map(_code, upstream.members)))
            for upstream in read_inventory().values()
            if upstream.word == "field"
        ),
    )


# --------------------------------------------------------------------------- our own parts


def _data_parts(_: Sequence[str]) -> Iterator[str]:
    yield from _table(
        ("part", "`data`", "means"),
        (
            (_code(f"data-{name}"), _code(part.shape), f"{part.doc}{_manners(part)}")
            for name, part in (SENT | TAKEN).items()
        ),
    )


def _manners(part: DataPart) -> str:
    if part.transient:
        return " Transient: only `onData` sees it."
    return " Has an `id`; the next one with it takes its place." if part.keyed else ""


def _metadata(_: Sequence[str]) -> Iterator[str]:
    yield from _table(
        ("key", "type", "means"),
        ((_code(name), _code(key.shape), key.doc) for name, key in METADATA_KEYS.items()),
    )


def _usage(_: Sequence[str]) -> Iterator[str]:
    yield from _table(
        ("`metadata.usage`", "sum of upstream's"),
        ((_code(ours), _code(theirs)) for ours, theirs in USAGE.items()),
    )


def _finish_reasons(_: Sequence[str]) -> Iterator[str]:
    """Upstream's words by ours."""
    words: dict[str, list[str]] = {}
    for theirs, ours in REASONS.items():
        words.setdefault(ours, []).append(_code(theirs) if theirs else "none given")
    words.setdefault("other", []).append("any that is not listed here")
    words["tool-calls"] = ["the message waits for an approval, an input or a client's tool"]
    yield from _table(
        ("`finishReason`", "upstream"), ((_code(ours), ", ".join(w)) for ours, w in words.items())
    )


# --------------------------------------------------------------------------- chunks


def _chunks(_: Sequence[str]) -> Iterator[str]:
    """What we write, and because of which facts."""
    yield from _written("chunk", CHUNKS)


def _written(title: str, table: Mapping[str, Chunk]) -> Iterator[str]:
    yield from _table(
        (title, "keys", "facts"),
        (
            (_code(kind), ", ".join(_keys(chunk)), " ".join(_facts(chunk.itself)))
            for kind, chunk in table.items()
            if isinstance(chunk.itself, Emitted)
        ),
    )


def _keys(chunk: Chunk) -> Iterator[str]:
    for key, row in chunk.keys.items():
        if isinstance(row, Emitted):
            yield f"{_code(key)} (dialect {row.dialect})" if row.dialect else _code(key)


def _facts(row: ChunkDisposition) -> Iterator[str]:
    if isinstance(row, Emitted):
        yield from (_code(fact.__name__) for fact in row.facts)


def _declined(_: Sequence[str]) -> Iterator[str]:
    """What we never write, and why."""
    reasons = {f"finish reason {_code(reason)}": row for reason, row in FINISH_REASONS.items()}
    yield from _never("never written", {**_dispositions(CHUNKS), **reasons})


def _dispositions(table: Mapping[str, Chunk]) -> dict[str, ChunkDisposition]:
    rows: dict[str, ChunkDisposition] = {}
    for kind, chunk in table.items():
        rows[_code(kind)] = chunk.itself
        rows |= {_code(f"{kind}.{key}"): row for key, row in chunk.keys.items()}
    return rows


def _never(title: str, rows: Mapping[str, ChunkDisposition]) -> Iterator[str]:
    declined = ((name, row.why) for name, row in rows.items() if isinstance(row, Declined))
    yield from _reasons(title, declined)


# --------------------------------------------------------------------------- AG-UI


def _events(_: Sequence[str]) -> Iterator[str]:
    """The events that we send, and because of which facts."""
    yield from _written("event", EVENTS)


def _events_declined(_: Sequence[str]) -> Iterator[str]:
    """The events and keys that we never send; of a key that all could have, one line for all."""
    rows = {
        name: row for name, row in _dispositions(EVENTS).items() if not name.endswith(".rawEvent`")
    }
    raw = EVENTS["RUN_STARTED"].keys["rawEvent"]
    yield from _never("never sent", {"`rawEvent` of any event": raw, **rows})


def _activities(_: Sequence[str]) -> Iterator[str]:
    yield from _notices("activity", "`content`", ACTIVITIES)


def _custom(_: Sequence[str]) -> Iterator[str]:
    yield from _notices("custom event", "`value`", CUSTOM)


def _notices(title: str, held: str, kinds: Mapping[str, NoticeKind]) -> Iterator[str]:
    yield from _table(
        (title, held, "means"),
        ((_code(name), _code(kind.shape), kind.doc) for name, kind in kinds.items()),
    )


_BLOCKS: dict[str, Callable[[Sequence[str]], Iterator[str]]] = {
    "fields": _fields,
    "besides": _besides,
    "inside": _inside,
    "not-shown": _not_shown,
    "types": _types,
    "data-parts": _data_parts,
    "metadata": _metadata,
    "usage": _usage,
    "finish-reasons": _finish_reasons,
    "chunks": _chunks,
    "declined": _declined,
    "ag-ui-fields": _ag_ui_fields,
    "events": _events,
    "events-declined": _events_declined,
    "activities": _activities,
    "custom": _custom,
}


if __name__ == "__main__":
    for name in sys.argv[1:]:
        path = Path(name)
        path.write_text(refresh(path.read_text()))
