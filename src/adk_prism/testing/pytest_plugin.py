"""pytest: tests of agents that play a recording, without a key.

    @pytest.mark.adk_recording("refund.jsonl")
    async def test_a_refund() -> None: ...

The file is beside the test's own. The models of all agents are answered from it, in any Runner. A request
that is not as recorded fails the test, with the difference. `pytest --adk-record` asks the live models
instead, and writes the file anew if the test passes.

pytest loads this module in every run, so that google-adk is imported only by tests with the mark.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from adk_prism.errors import PrismError, UsageError

if TYPE_CHECKING:
    from adk_prism.features.rerun.recorded_models import RecordedModels
    from adk_prism.testing.recordings import Recording

MARK = "adk_recording"

_FORM = 'it must be @pytest.mark.adk_recording("FILE.jsonl"), optionally with ignore=["clock"]'


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--adk-record`."""
    group = parser.getgroup("adk-prism")
    group.addoption(
        "--adk-record",
        action="store_true",
        help="tests with @pytest.mark.adk_recording: ask live models, and write the recordings anew",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Declare the mark."""
    config.addinivalue_line(
        "markers",
        f"{MARK}(file, ignore=[]): answer the models of all agents from a recording beside the test",
    )


class _Recorded:
    """What a test with the mark uses."""

    def __init__(self, item: pytest.Item, mark: pytest.Mark) -> None:
        """Raise `UsageError` for a mark that cannot be used."""
        ignore = mark.kwargs.get("ignore", ())
        names = [mark.args[0]] if len(mark.args) == 1 else []
        is_list = isinstance(ignore, list | tuple) and all(isinstance(r, str) for r in ignore)
        if not names or not is_list or mark.kwargs.keys() - {"ignore"}:
            raise UsageError(f"The mark {MARK} is wrong: {_FORM}.")
        self.file = item.path.parent / Path(names[0])
        self.ignore: tuple[str, ...] = tuple(ignore)
        self.is_made_anew = bool(item.config.getoption("--adk-record"))
        self.models: RecordedModels | None = None
        self._recording: Recording | None = None
        self._held: AbstractContextManager[Any] | None = None

    def start(self) -> None:
        """Play or record from now on. Raise `PrismError`."""
        from adk_prism.testing.recordings import playing, recording

        if self.is_made_anew:
            held = recording(self.file)
            self._recording = held.__enter__()
            self._held = held
        else:
            play = playing(self.file, self.ignore)
            self.models = play.__enter__()
            self._held = play

    def stop(self) -> None:
        """End it."""
        if self._held is not None:
            self._held.__exit__(None, None, None)

    def difference(self) -> str:
        """Return how a request differed from the recording; empty if all were the same."""
        found = self.models.difference if self.models is not None else None
        return found.text() if found is not None else ""

    def write(self) -> None:
        """Write what was recorded. Fail the test if there is nothing."""
        if self._recording is not None and not self._recording.write():
            pytest.fail(f"{self.file.name} was not written: the test ran no agent.", pytrace=False)

    def claim(self, item: pytest.Item) -> None:
        """Raise `UsageError` if another test has recorded the file: one of the two would then fail."""
        owner = item.config.stash.setdefault(_RECORDED, {}).setdefault(self.file, item.nodeid)
        if self.is_made_anew and owner != item.nodeid:
            raise UsageError(
                f"{self.file.name} is the recording of {owner}: give each test, and each set of parameters"
                f" (pytest.param(…, marks=pytest.mark.{MARK}(…))), a file of its own."
            )


_KEY = pytest.StashKey[_Recorded]()
_RECORDED = pytest.StashKey[dict[Path, str]]()
"""Which test the file of a recording belongs to."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Play or record from before the fixtures of a test until after them."""
    mark = item.get_closest_marker(MARK)
    if mark is None:
        return (yield)
    recorded: _Recorded | None = None
    try:
        recorded = item.stash[_KEY] = _Recorded(item, mark)
        recorded.claim(item)
        recorded.start()
    except PrismError as error:
        is_told = recorded is None or recorded.is_made_anew
        record = "" if is_told else f" To record it: pytest --adk-record {item.nodeid}"
        item.stash[_FAULT] = error.detail + record
    try:
        return (yield)
    finally:
        if recorded is not None:
            recorded.stop()


_FAULT = pytest.StashKey[str]()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Fail a test whose recording cannot be played, before its fixtures are made."""
    fault = item.stash.get(_FAULT, "")
    if fault:
        pytest.fail(fault, pytrace=False)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Fail a test with the difference, whatever else came of it; write a recording of one that passed."""
    __tracebackhide__ = True
    recorded = item.stash.get(_KEY, None)
    if recorded is None:
        return (yield)
    try:
        result = yield
    except BaseException:
        _check(item, recorded)
        raise
    _check(item, recorded)
    recorded.write()
    return result


def _check(item: pytest.Item, recorded: _Recorded) -> None:
    difference = recorded.difference()
    if difference:
        pytest.fail(
            f"{recorded.file.name}: {difference}\nIf this is meant: pytest --adk-record {item.nodeid}",
            pytrace=False,
        )
