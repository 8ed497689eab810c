"""Which method of a projection shows which fact: the one with the fact's name.

`_call_answered` shows `CallAnswered`. Facts that are shown in another way, or not at all, are listed by the
projection. A fact that is neither fails the import, so none is forgotten.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, get_args

from adk_prism.facts.model import BlockGrew, Fact

FactMethods = Mapping[type[Any], Callable[[Any, Any, list[Any]], None]]
"""By fact: takes the projection, the fact, and the frames to add to."""


def fact_methods(projection: type[Any], others: FactMethods) -> FactMethods:
    """Return the methods for all facts but `BlockGrew`: the most frequent one is shown by `feed` itself."""
    facts = (kind for kind in get_args(Fact) if kind is not BlockGrew)
    return {kind: others.get(kind) or getattr(projection, _method(kind)) for kind in facts}


def _method(fact: type[Any]) -> str:
    return re.sub("[A-Z]", lambda letter: f"_{letter[0].lower()}", fact.__name__)
