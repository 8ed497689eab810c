"""A Python function of the operator that authenticates a request.

    def authenticate(connection: HTTPConnection) -> Principal | str | None: ...

It may be async. A string is a user name; None means not authenticated. If it raises, the request fails with a
server error.
"""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

from starlette.requests import HTTPConnection

from adk_prism.errors import UsageError
from adk_prism.server.guards.name_rules import check_user
from adk_prism.server.identity.caller import Principal

Result = Principal | str | None
Authenticate = Callable[[HTTPConnection], Result | Awaitable[Result]]


class Callback:
    """Authenticates by calling a function."""

    def __init__(self, function: Authenticate) -> None:
        self._function = function

    async def __call__(self, connection: HTTPConnection) -> Principal | None:
        """Return the caller that the function returns."""
        said = self._function(connection)
        if inspect.isawaitable(said):
            said = await said
        if said is None or isinstance(said, Principal):
            return said
        if isinstance(said, str):
            return Principal(check_user(said))
        raise TypeError(f"authenticate returned a {type(said).__name__}, not a Principal")


def load(name: str) -> Authenticate:
    """Import `module:function`, also from the working directory. Raise `UsageError` if there is none."""
    module, _, attribute = name.partition(":")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)
    try:
        found = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise UsageError(
            f"{name!r} cannot be imported ({type(error).__name__}); --authenticate must be MODULE:FUNCTION."
        ) from error
    if not callable(found):
        raise UsageError(f"{name!r} is not a function.")
    function: Authenticate = found
    return function
