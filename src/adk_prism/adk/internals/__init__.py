"""Everything here that depends on internals of other packages: seven places, behind one fence.

In `log_lines`:
- DEBUG lines of ADK's node runner and of Gemini's live connection. ADK has no callback for nodes of a
  workflow, nor for calls that a live model cancels;
- the file, the connection and the revision mark of ADK's SQLite service. Its API can neither count events nor
  remove a key of state, and does not say whether a session has changed.

In `runner`:
- the node inside a parallel worker, the folder of an agent, the context and the tools of an agent that runs
  live. ADK shows them to nobody;
- which task agent waits for a reply (`_find_active_task_scope`), which ADK's Runner does not continue by
  itself; and two methods of the Runner and one of its plugin manager, which are wrapped in the process of an
  app that asks for the recorder: plugins do not see how a run ends that is cancelled;
- the registry of the thread pools in which ADK runs synchronous tools: a thread that goes on after its run
  was stopped has to be known;
- the class of a model object (`swap_class`), for apps that ask for `cache_prefix()`.

In `features/a2a/server`: `google.adk.a2a._compat`, ADK's own bridge between two versions of the A2A SDK.

Each module says what adk-prism does without its internal, and has a `Capability` whose probe finds out
whether the installed version still has it (`capabilities`, `adk-prism doctor`). No other package uses a
private name of a third party: `tests/test_architecture.py` checks it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class Capability(NamedTuple):
    """Something that adk-prism does with an internal of a third party."""

    name: str
    summary: str
    """What it is for."""
    without: str
    """What happens if the internal is missing."""
    probe: Callable[[], str | None]
    """Return, or raise, why the internal cannot be used; None if it looks as expected. Cheap."""


class Unavailable(Exception):
    """Raised by a probe: the installed version lacks the internal, or has another one."""


def require(condition: bool, problem: str) -> None:
    """Raise `Unavailable` with the problem if the condition does not hold."""
    if not condition:
        raise Unavailable(problem)
