"""What OpenAI's own package has for answers, as `adk-prism fields` keeps it.

`python -m tests.features.fields.openai_types` prints it. Users have no `openai`: `openai_types.json` is part
of the package, and a test fails when it is not what the package says. Events and output items go by their
`type`, everything else by its class.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from importlib.metadata import version
from typing import Any, get_args

from openai.types.chat import ChatCompletionChunk
from openai.types.responses import Response, ResponseOutputItem, ResponseStreamEvent
from pydantic import BaseModel

WHOLE = (ChatCompletionChunk,)
"""Types of which all is listed that they can hold."""
ALONE = (Response, ResponseStreamEvent, ResponseOutputItem)
"""Types that are listed with their own keys: a response also repeats the tools and prompts of the request."""


def kept() -> str:
    """Return the file, one type a line, so that a diff shows what a release changed."""
    found = {model.__name__: _keys(model) for model in _reachable(WHOLE)}
    found |= {_name(model): _keys(model) for model in _models_in(ALONE)}
    types = ",\n".join(
        f"    {json.dumps(name)}: {json.dumps(found[name])}" for name in sorted(found)
    )
    return f'[\n {{"version": {json.dumps(version("openai"))},\n  "events": {{\n{types}\n  }}\n }}\n]\n'


def _reachable(roots: tuple[type[BaseModel], ...]) -> Iterator[type[BaseModel]]:
    seen, waiting = set(roots), list(roots)
    while waiting:
        model = waiting.pop(0)
        yield model
        for field in model.model_fields.values():
            new = [each for each in _models_in(field.annotation) if each not in seen]
            seen.update(new)
            waiting += new


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for each in annotation if isinstance(annotation, tuple) else get_args(annotation):
        yield from _models_in(each)


def _name(model: type[BaseModel]) -> str:
    kind = model.model_fields.get("type")
    names = get_args(kind.annotation) if kind else ()
    return names[0] if names else model.__name__


def _keys(model: type[BaseModel]) -> dict[str, list[str]]:
    names = {field.alias or name: field for name, field in model.model_fields.items()}
    found = {name: each.is_required() for name, each in sorted(names.items()) if name != "type"}
    required = [name for name, is_required in found.items() if is_required]
    return {"required": required, "optional": [name for name in found if name not in required]}


if __name__ == "__main__":
    sys.stdout.write(kept())
