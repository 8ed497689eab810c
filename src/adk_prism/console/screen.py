"""The panel on a terminal: conversation, grounding or overview, timeline strip, input line.

Decides what a key does and when what is drawn; what is shown is `panels`', what is meant `wishes`'. Letters
are commands outside the input line and text inside it. A line leaves the input only when the server has
taken it, and comes back when it has not.
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

from adk_prism.console import strategy
from adk_prism.console.backoff import Backoff
from adk_prism.console.client import Client, connect, shown_url
from adk_prism.console.commands import COMMANDS, Command
from adk_prism.console.draw import text_of
from adk_prism.console.exchange import Accepted, Back, Lost, News, Settled, Told
from adk_prism.console.panel_view import WIDE, PanelView
from adk_prism.console.panels import timeline
from adk_prism.console.panels.grounding import PLAN_KEYS
from adk_prism.console.place import USER, Place
from adk_prism.console.problems import Unreachable
from adk_prism.console.rows import Row, clean, one_line
from adk_prism.console.session import Session
from adk_prism.console.talk_view import TalkView
from adk_prism.console.token import Token
from adk_prism.console.wishes import Export, Keep, Quit, Send, Show, Stop
from adk_prism.errors import PrismError

FRAME = 1 / 15
"""Seconds between two drawings of growing text: smooth to read, and idle most of the time."""
PANEL_FRAME = 4
"""Text frames for one drawing of the panels, which cost a look at the whole run."""
REST = 4
"""Times as long as a drawing took, nothing is drawn: a very long answer leaves keys their turn."""
TYPED_LINES = 100
"""Lines that the up key brings back."""

_KEYS: dict[str, Command] = {row.key: row for row in COMMANDS if row.key}
_RECALL = {"up": 1, "down": -1}
_TEXT = "Say something, or /help"
_COMMANDS = "Keys are commands now; Enter or / to type"
_HINT = "Tab: keys  ?: help  q: quit"


class Line(Input):
    """The input line: it says whether letters are text, and a paste of several lines stays whole."""

    def on_focus(self) -> None:
        """Letters are text."""
        self.placeholder = _TEXT

    def on_blur(self) -> None:
        """Letters are commands."""
        self.placeholder = _COMMANDS

    def _on_paste(self, event: events.Paste) -> None:
        event.prevent_default()
        event.stop()
        self.insert_text_at_cursor(" ".join(event.text.split("\n")))


class Console(App[int]):
    """The terminal panel of one session."""

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
        place: Place,
        told: deque[str] | None = None,
        token: Token | None = None,
    ) -> None:
        """`told` is where a server in this process puts what its operator should know."""
        super().__init__()
        self._http = connect(url, token)
        self._session = Session(Client(self._http), place)
        user = f" as {place.user}" if place.user != USER else ""
        self._where = f"{place.app} · {place.session} · {shown_url(url)}{user}"
        self._told: deque[str] = told if told is not None else deque()
        self._panel = PanelView(self._session.dialogue)
        self._talk = TalkView(self._session.dialogue.talk)
        self._strip = Static(id="strip", markup=False)
        self._status = Static(id="status", markup=False)
        self._line = Line(placeholder=_TEXT, select_on_focus=False, id="line")
        self._keys = Static(id="keys", markup=False)
        self._says = Row("Opening the session …", "dim")
        self._sent = ""
        """A line that the server has not taken yet."""
        self._sending: Worker[None] | None = None
        self._dirty = True
        self._frame = 0
        self._rests = 0.0
        """When it may be drawn again."""
        self._leaving = False
        """`q` was pressed: it is also the first letter of a question that somebody begins to type."""
        self._typed: deque[str] = deque(maxlen=TYPED_LINES)
        self._back = 0

    # -------------------------------------------------------------- what there is

    def compose(self) -> ComposeResult:
        """Lay the parts out."""
        yield Static(clean(self._where), id="where", markup=False)
        with Container(id="body"):
            yield self._panel
            yield self._talk
        yield self._strip
        yield self._status
        yield self._line
        yield self._keys

    def on_mount(self) -> None:
        """Open the session and begin to draw."""
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
        """Read the session, through as many tries as it takes; return the run that goes on in it."""
        backoff = Backoff()
        while True:
            try:
                return await self._session.open()
            except Unreachable as error:
                wait = backoff.wait()
                if wait is None:
                    raise
                self._lost(Lost(error.detail, wait))
                await asyncio.sleep(wait)

    # -------------------------------------------------------------- drawing

    def _tick(self) -> None:
        while self._told:
            self._session.dialogue.talk.note("error", f"operator: {self._told.popleft()}")
            self._dirty = True
        if not self._talk.is_attached:
            return  # leaving
        self._talk.keep_up()
        began = monotonic()
        if not self._dirty or began < self._rests:
            return
        self._dirty = False
        self._talk.draw()
        self._draw_lines()
        self._frame += 1
        if self._frame % PANEL_FRAME == 0 or not self._session.busy:
            self._draw_panels()
        else:
            self._dirty = True
        self._rests = began + REST * (monotonic() - began)

    def _draw_panels(self) -> None:
        view = self._session.dialogue.panel("timeline")
        self._strip.update(text_of([timeline.strip(view, self.size.width - 2)]))
        self._panel.draw()

    def _draw_lines(self) -> None:
        self._status.update(text_of([self._status_row()]))
        self._line.password = self._asks_secret()
        self._keys.update(text_of([Row(self._key_hints(), "dim")]))

    def _status_row(self) -> Row:
        if self._says.text:
            return self._says
        if self._session.busy:
            return Row("… running – Esc stops it", "strong")
        asked = self._session.wishes.asked()
        if asked and self._session.wishes.plan is None:
            first, more = asked[0], f" ({len(asked)} in all)" if len(asked) > 1 else ""
            name = one_line(first.name, 80)
            words = {
                "approval": f"? {name} waits for your approval{more}",
                "input": f"? asks: {name}{more} – type {first.wants or 'the answer'}",
                "credential": f"? asks you to sign in{more} – type {first.wants}",
                "result": f"? {name} is yours to run{more} – type its result",
            }
            return Row(words[first.kind], "ask")
        return Row("")

    def _asks_secret(self) -> bool:
        """Tell whether what is typed next is a key or a password, which is not shown or kept."""
        asked = [] if self._session.busy else self._session.wishes.asked()
        first = asked[0].sign_in if asked else None
        return first is not None and not first.address

    def _key_hints(self) -> str:
        wishes = self._session.wishes
        if self._session.busy:
            return f"Esc: stop  {_HINT}"
        if wishes.plan is not None:
            return f"{PLAN_KEYS}  {_HINT}"
        asked = wishes.asked()
        if asked and asked[0].kind == "approval":
            return f"[y] approve  [n] deny  {_HINT}"
        if wishes.remedies:
            return f"[1-{len(wishes.remedies)}] choose a remedy  {_HINT}"
        return f"{_HINT}  t: timeline  v: state  p: proof"

    def _say(self, text: str, style: Any = "dim") -> None:
        self._says = Row(one_line(text), style)
        self._dirty = True

    def _fail(self, error: PrismError) -> None:
        self._say(f"! {error.detail}", "error")

    def on_resize(self) -> None:
        """Lay the rows out for the new width."""
        self._dirty = True

    # -------------------------------------------------------------- keys and lines

    async def on_event(self, event: events.Event) -> None:
        """Take a key before any widget does.

        Once it is on its way to a widget, another one may follow it there that is meant for where the
        first has led: of `/export` typed fast, the `o` must not approve a plan.
        """
        if not event.is_forwarded:
            if isinstance(event, events.Key) and self._keyed(event):
                return
            if isinstance(event, events.Paste):
                self.screen.set_focus(self._line)
        await super().on_event(event)

    def _keyed(self, event: events.Key) -> bool:
        """Do what a key means; tell whether it meant anything but to be typed."""
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
        """Take a key outside the input line; tell whether it means anything."""
        self._leaving = self._leaving and event.key == "q"
        if event.key in ("enter", "slash", "i"):
            self._begin("/" if event.key == "slash" else "")
        elif event.character and event.character in "123456789":
            self._take(f"/remedy {event.character}")
        elif event.key == "q" and not self._leaving:
            self._leaving = True
            self._say("Press q again to leave.")
        elif event.key in _KEYS:
            self._press(_KEYS[event.key])
        else:
            return False
        return True

    def _begin(self, text: str) -> None:
        """Go to the input line, which keeps what is in it unless there is something to put there."""
        self._line.value = text or self._line.value
        self.screen.set_focus(self._line)
        self._line.action_end()

    def _escape(self) -> None:
        if self._session.busy:
            self._take("/stop")
        else:
            self._to_keys()

    def _to_keys(self) -> None:
        self.screen.set_focus(self._talk)

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
        """Take the line."""
        is_secret = self._asks_secret() and not event.value.startswith("/")
        if event.value.strip() and self._take(event.value.strip()):
            if not is_secret:
                self._typed.append(event.value.strip())
            self._back = 0
            event.input.clear()

    def action_leave(self) -> None:
        """Leave the panel; the run stays the server's."""
        self.exit(0)

    def _take(self, line: str) -> bool:
        """Do what a line wishes; tell whether it could be done."""
        try:
            wish = self._session.wishes.read(line)
            self._say("")
            match wish:
                case Send():
                    self._send(line, wish)
                case Keep():
                    pass  # the status asks for the next one
                case Show():
                    self._panel.choose(wish.panel)
                case Export():
                    view = self._session.dialogue.panel("grounding")
                    self._say(f"Written to {strategy.write(view, wish.file)}.")
                case Stop() if self._sent:
                    self._unsend()
                case Stop():
                    self._stop()
                case Quit():
                    self.exit(0)
                case _:
                    assert_never(wish)
        except PrismError as error:
            self._fail(error)
            return False
        return True

    # -------------------------------------------------------------- runs

    def _send(self, line: str, wish: Send) -> None:
        self._sent = line
        self._say(f"Sending: {'…' if self._line.password else line}")
        self._sending = self._exchange(wish)

    @work(exclusive=True)
    async def _exchange(self, wish: Send) -> None:
        try:
            await self._follow(self._session.send(wish.body))
        except PrismError as error:
            self._fail(error)
            self._give_back()

    async def _follow(self, news: AsyncGenerator[News, None]) -> None:
        async with aclosing(news) as items:
            async for item in items:
                _TOLD[type(item)](self, item)
                self._dirty = True

    def _unsend(self) -> None:
        """Stop trying to send: the line comes back."""
        if self._sending is not None:
            self._sending.cancel()
        self._say("Not sent, as far as is known.", "error")
        self._give_back()

    def _give_back(self) -> None:
        line = self._line
        if self._sent and not line.value:
            line.value = self._sent
            self.screen.set_focus(line)
        self._sent = ""

    def _accepted(self, _: Accepted) -> None:
        self._sent = ""
        self._say("")

    def _lost(self, item: Lost) -> None:
        kept = " What you sent is kept." if self._sent else ""
        self._say(f"! {item.why} Trying again in {item.wait:g} s.{kept}", "error")

    def _is_back(self, _: Back) -> None:
        self._say("The server is back.")

    def _went_on(self, _: Told) -> None:
        pass  # drawn with the next frame

    def _settled(self, _: Settled) -> None:
        """Let the keys be at hand where something waits, unless a line has been begun."""
        wishes, line = self._session.wishes, self._line
        asked = wishes.asked()
        gated = bool(asked) and asked[0].kind == "approval"
        by_key = wishes.plan is not None or gated or bool(wishes.remedies)
        if by_key and not line.value:
            self._to_keys()
        elif not by_key:
            self.screen.set_focus(line)

    @work
    async def _stop(self) -> None:
        self._say("Stopping …")
        try:
            await self._session.stop()
            self._say("")
        except PrismError as error:
            self._fail(error)


_TOLD: dict[type[Any], Callable[[Console, Any], None]] = {
    Accepted: Console._accepted,
    Told: Console._went_on,
    Lost: Console._lost,
    Back: Console._is_back,
    Settled: Console._settled,
}
"""What each piece of news does to the screen."""
