"""The textual app: transcript, a side panel, a timeline strip and the input line.

Decides what a key does and when to draw; `panels` renders the content and `intents` interprets typed lines.
Letters are text inside the input line and commands outside of it. A line that the server did not accept is
put back into the input.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from time import monotonic
from typing import Any, ClassVar, assert_never

from textual import events, work
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.widgets import Input, Static
from textual.worker import Worker

from adk_prism.cli.terminal import Row, clean, one_line
from adk_prism.errors import PrismError
from adk_prism.features.captures import client
from adk_prism.features.console import session
from adk_prism.features.console.commands import COMMANDS, Command
from adk_prism.features.console.intents import Export, Keep, Quit, Send, Show, Stop
from adk_prism.features.console.widgets import WIDE, PanelView, TranscriptView, text_of
from adk_prism.features.grounding.text import PLAN_KEYS, write_report
from adk_prism.features.page import text as panels

FRAME = 1 / 15
"""Seconds between two draws of growing text."""
PANEL_FRAME = 4
"""Frames per draw of the panels, which read the whole run."""
REST = 4
"""Pause after a draw, as a multiple of its duration, so that keys are handled during a very long answer."""
TYPED_LINES = 100
"""Lines that the up key recalls."""

_KEYS: dict[str, Command] = {row.key: row for row in COMMANDS if row.key}
_RECALL = {"up": 1, "down": -1}
_TEXT = "Type a message, or /help"
_COMMANDS = "Keys are commands; press Enter or / to type"
_HINT = "Tab: command keys  ?: help  q: quit"


class Line(Input):
    """The input line. Its placeholder says whether letters are text; a paste of several lines becomes one."""

    def on_focus(self) -> None:
        """Say that letters are text now."""
        self.placeholder = _TEXT

    def on_blur(self) -> None:
        """Say that letters are commands now."""
        self.placeholder = _COMMANDS

    def _on_paste(self, event: events.Paste) -> None:
        event.prevent_default()
        event.stop()
        self.insert_text_at_cursor(" ".join(event.text.split("\n")))


class Console(App[int]):
    """The console of one session."""

    CSS_PATH = "screen.tcss"
    # Textual does not declare it as the class variable that it is.
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (WIDE, "-wide")]  # noqa: RUF012
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+c", "leave", "Quit", priority=True, show=False)
    ]

    def __init__(
        self,
        url: str,
        address: client.SessionAddress,
        diagnostics: deque[str] | None = None,
        token: client.Token | None = None,
    ) -> None:
        """`diagnostics` receives those of a server in this process."""
        super().__init__()
        self._http = client.connect(url, token)
        self._session = session.Session(client.Client(self._http), address)
        user = f" as {address.user}" if address.user != client.USER else ""
        self._where = f"{address.app} · {address.session} · {client.shown_url(url)}{user}"
        self._diagnostics: deque[str] = diagnostics if diagnostics is not None else deque()
        self._panel = PanelView(self._session.history)
        self._transcript = TranscriptView(self._session.history.transcript)
        self._strip = Static(id="strip", markup=False)
        self._status = Static(id="status", markup=False)
        self._line = Line(placeholder=_TEXT, select_on_focus=False, id="line")
        self._keys = Static(id="keys", markup=False)
        self._says = Row("Opening the session…", "dim")
        self._sent = ""
        """A line that the server has not accepted yet."""
        self._sending: Worker[None] | None = None
        self._dirty = True
        self._frame = 0
        self._rests = 0.0
        """Earliest time of the next draw."""
        self._leaving = False
        """`q` was pressed once; a second press quits, since `q` may be the start of a message."""
        self._typed: deque[str] = deque(maxlen=TYPED_LINES)
        self._back = 0

    # -------------------------------------------------------------- layout

    def compose(self) -> ComposeResult:
        """Add the widgets."""
        yield Static(clean(self._where), id="where", markup=False)
        with Container(id="body"):
            yield self._panel
            yield self._transcript
        yield self._strip
        yield self._status
        yield self._line
        yield self._keys

    def on_mount(self) -> None:
        """Open the session and start drawing."""
        self.set_interval(FRAME, self._tick)
        self.screen.set_focus(self._line)
        self._open()

    async def on_unmount(self) -> None:
        """Close the connection."""
        await self._http.aclose()

    @work(exclusive=True)
    async def _open(self) -> None:
        try:
            live = await self._opened()
            self._say("")
            if live:
                await self._follow(self._session.attach(live))
        except PrismError as error:
            self._fail(error)

    async def _opened(self) -> str:
        """Open the session, with retries; return the id of its active run."""
        backoff = session.Backoff()
        while True:
            try:
                return await self._session.open()
            except client.Unreachable as error:
                wait = backoff.wait()
                if wait is None:
                    raise
                self._lost(session.ConnectionLost(error.detail, wait))
                await asyncio.sleep(wait)

    # -------------------------------------------------------------- drawing

    def _tick(self) -> None:
        while self._diagnostics:
            self._session.history.transcript.note(
                "error", f"operator: {self._diagnostics.popleft()}"
            )
            self._dirty = True
        if not self._transcript.is_attached:
            return  # leaving
        self._transcript.keep_up()
        began = monotonic()
        if not self._dirty or began < self._rests:
            return
        self._dirty = False
        self._transcript.draw()
        self._draw_lines()
        self._frame += 1
        if self._frame % PANEL_FRAME == 0 or not self._session.busy:
            self._draw_panels()
        else:
            self._dirty = True
        self._rests = began + REST * (monotonic() - began)

    def _draw_panels(self) -> None:
        view = self._session.history.panel("timeline")
        self._strip.update(text_of([panels.strip(view, self.size.width - 2)]))
        self._panel.draw()

    def _draw_lines(self) -> None:
        self._status.update(text_of([self._status_row()]))
        self._line.password = self._asks_secret()
        self._keys.update(text_of([Row(self._key_hints(), "dim")]))

    def _status_row(self) -> Row:
        if self._says.text:
            return self._says
        if self._session.busy:
            return Row("Running… Esc stops it", "strong")
        asked = self._session.intents.asked()
        if asked and self._session.intents.plan is None:
            first, more = asked[0], f" ({len(asked)} pending)" if len(asked) > 1 else ""
            name = one_line(first.name, 80)
            asks = {
                "approval": f"? {name} needs your approval{more}",
                "input": f"? {name}{more} – type {first.wants or 'your answer'}",
                "credential": f"? Sign-in needed{more} – enter {first.wants}",
                "result": f"? Run {name} yourself{more} and type its result",
            }
            return Row(asks[first.kind], "ask")
        return Row("")

    def _asks_secret(self) -> bool:
        """Return whether the next line is a secret, which is neither shown nor remembered."""
        asked = [] if self._session.busy else self._session.intents.asked()
        first = asked[0].sign_in if asked else None
        return first is not None and not first.address

    def _key_hints(self) -> str:
        intents = self._session.intents
        if self._session.busy:
            return f"Esc: stop  {_HINT}"
        if intents.plan is not None:
            return f"{PLAN_KEYS}  {_HINT}"
        asked = intents.asked()
        if asked and asked[0].kind == "approval":
            return f"[y] approve  [n] deny  {_HINT}"
        if intents.remedies:
            return f"[1-{len(intents.remedies)}] choose a remedy  {_HINT}"
        return f"{_HINT}  t: timeline  v: state  p: proof"

    def _say(self, text: str, style: Any = "dim") -> None:
        self._says = Row(one_line(text), style)
        self._dirty = True

    def _fail(self, error: PrismError) -> None:
        self._say(f"! {error.detail}", "error")

    def on_resize(self) -> None:
        """Draw again for the new width."""
        self._dirty = True

    # -------------------------------------------------------------- keys and lines

    async def on_event(self, event: events.Event) -> None:
        """Handle a key before any widget does.

        A key that moves the focus must do so before the next key arrives: in `/export` typed fast, the `o`
        must not approve a plan.
        """
        if not event.is_forwarded:
            if isinstance(event, events.Key) and self._keyed(event):
                return
            if isinstance(event, events.Paste):
                self.screen.set_focus(self._line)
        await super().on_event(event)

    def _keyed(self, event: events.Key) -> bool:
        """Handle a key; return whether it was more than text to type."""
        if event.key == "escape":
            self._escape()
        elif self.focused is not self._line:
            return self._pressed(event)
        elif event.key in _RECALL:
            self._recall(_RECALL[event.key])
        else:
            return False
        return True

    def _pressed(self, event: events.Key) -> bool:
        """Handle a key outside the input line; return whether it is a command."""
        self._leaving = self._leaving and event.key == "q"
        if event.key in ("enter", "slash", "i"):
            self._begin("/" if event.key == "slash" else "")
        elif event.character and event.character in "123456789":
            self._take(f"/remedy {event.character}")
        elif event.key == "q" and not self._leaving:
            self._leaving = True
            self._say("Press q again to quit.")
        elif event.key in _KEYS:
            self._press(_KEYS[event.key])
        else:
            return False
        return True

    def _begin(self, text: str) -> None:
        """Focus the input line and put text into it, if any."""
        self._line.value = text or self._line.value
        self.screen.set_focus(self._line)
        self._line.action_end()

    def _escape(self) -> None:
        if self._session.busy:
            self._take("/stop")
        else:
            self._to_keys()

    def _to_keys(self) -> None:
        self.screen.set_focus(self._transcript)

    def _press(self, pressed: Command) -> None:
        if pressed.needs or pressed.name == "export":
            self._begin(f"/{pressed.name} ")
        else:
            self._take(f"/{pressed.name}")

    def _recall(self, step: int) -> None:
        self._back = max(0, min(self._back + step, len(self._typed)))
        line = self._line
        line.value = self._typed[-self._back] if self._back else ""
        line.action_end()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Handle a submitted line."""
        is_secret = self._asks_secret() and not event.value.startswith("/")
        if event.value.strip() and self._take(event.value.strip()):
            if not is_secret:
                self._typed.append(event.value.strip())
            self._back = 0
            event.input.clear()

    def action_leave(self) -> None:
        """Quit; the run continues on the server."""
        self.exit(0)

    def _take(self, line: str) -> bool:
        """Run a line; return whether that was possible."""
        try:
            intent = self._session.intents.read(line)
            self._say("")
            match intent:
                case Send():
                    self._send(line, intent)
                case Keep():
                    pass  # the status line shows the next question
                case Show():
                    self._panel.choose(intent.panel)
                case Export():
                    view = self._session.history.panel("grounding")
                    self._say(f"Written to {write_report(view, intent.file)}.")
                case Stop() if self._sent:
                    self._unsend()
                case Stop():
                    self._stop()
                case Quit():
                    self.exit(0)
                case _:
                    assert_never(intent)
        except PrismError as error:
            self._fail(error)
            return False
        return True

    # -------------------------------------------------------------- runs

    def _send(self, line: str, intent: Send) -> None:
        self._sent = line
        self._say(f"Sending: {'…' if self._line.password else line}")
        self._sending = self._exchange(intent)

    @work(exclusive=True)
    async def _exchange(self, intent: Send) -> None:
        try:
            await self._follow(self._session.send(intent.body))
        except PrismError as error:
            self._fail(error)
            self._give_back()

    async def _follow(self, updates: AsyncGenerator[session.RunUpdate, None]) -> None:
        async with aclosing(updates) as items:
            async for item in items:
                _HANDLERS[type(item)](self, item)
                self._dirty = True

    def _unsend(self) -> None:
        """Stop sending, and put the line back into the input."""
        if self._sending is not None:
            self._sending.cancel()
        self._say("Cancelled. The message was probably not sent.", "error")
        self._give_back()

    def _give_back(self) -> None:
        line = self._line
        if self._sent and not line.value:
            line.value = self._sent
            self.screen.set_focus(line)
        self._sent = ""

    def _accepted(self, _: session.RunAccepted) -> None:
        self._sent = ""
        self._say("")

    def _lost(self, item: session.ConnectionLost) -> None:
        kept = " Your message will be sent then." if self._sent else ""
        self._say(f"! {item.why} Reconnecting in {item.wait:g} s.{kept}", "error")

    def _reconnected(self, _: session.Reconnected) -> None:
        self._say("Reconnected.")

    def _received(self, _: session.EntryReceived) -> None:
        pass  # drawn with the next frame

    def _settled(self, _: session.RunFinished) -> None:
        """Focus the command keys if a key can answer a question and the input is empty."""
        intents, line = self._session.intents, self._line
        asked = intents.asked()
        gated = bool(asked) and asked[0].kind == "approval"
        by_key = intents.plan is not None or gated or bool(intents.remedies)
        if by_key and not line.value:
            self._to_keys()
        elif not by_key:
            self.screen.set_focus(line)

    @work
    async def _stop(self) -> None:
        self._say("Stopping…")
        try:
            await self._session.stop()
            self._say("")
        except PrismError as error:
            self._fail(error)


_HANDLERS: dict[type[Any], Callable[[Console, Any], None]] = {
    session.RunAccepted: Console._accepted,
    session.EntryReceived: Console._received,
    session.ConnectionLost: Console._lost,
    session.Reconnected: Console._reconnected,
    session.RunFinished: Console._settled,
}
"""Handlers of run updates."""
