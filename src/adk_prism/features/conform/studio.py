"""Tries a server as a Studio client does, and as clients that make mistakes do."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from adk_prism.facts.state import DEPTH
from adk_prism.features.captures.streams import SseEvent
from adk_prism.features.conform import checks

# ---------------------------------------------------------------------- studio events
#
# The events of the Studio protocol, SSE Schema v2: names, values and order.
#
# What the schema makes optional is checked where it is sent; what adk-prism adds to it is not required.


_TEXTS = ("session", "chunk", "end")
_KEYS: dict[str, tuple[str, ...]] = {
    "thinking": ("content",),
    "tool_call": ("name", "args"),
    "tool_result": ("name", "result"),
    "log": ("message",),
    "interrupt": ("node_id", "message"),
    "resume": ("node_id",),
    "node_start": ("node", "step"),
    "node_end": ("node", "step", "duration_ms"),
    "state": ("state_snapshot",),
    "done": ("total_steps",),
}
_NAMES = {*_TEXTS, "error", "trace", *(_KEYS.keys() - {"node_start", "node_end", "state", "done"})}
_TYPES = checks.typed_keys(
    a_string="node name message content node_id",
    a_whole_number="step total_steps",
    a_number="duration_ms",
    a_list="state_keys",
    an_object="state_snapshot",
)

Data = dict[str, Any]


class Stream(checks.FrameReader):
    """One run, as far as it has been read."""

    def __init__(self, sheet: checks.Sheet, continues: bool = False) -> None:
        """`continues`: calls may have been made before."""
        self.session = ""
        self.ended = ""
        self.questions: list[Data] = []
        super().__init__(sheet)
        self._continues = continues
        self._number = 0
        self._nodes: dict[tuple[str, int], int] = {}
        """Name and step of the nodes that run → how often."""
        self._steps = 0
        self._done = 0
        self._tools: set[str] = set()

    def take(self, frame: SseEvent) -> None:
        """Take the next event; note what is wrong with it."""
        self._number += 1
        self._at = f"frame {self._number}"
        name = frame.event
        if not self.expect("event-name", name in _NAMES, name):
            return
        self._check_place(name, frame.data)
        if name in ("end", "error"):
            self.ended = name
        if name in _TEXTS or name == "error":
            return
        data = checks.read_json(frame.data)
        if self.expect("json", isinstance(data, dict), frame.data):
            self._read(name, data, frame.data)

    def finish(self) -> None:
        """Check the end of the stream."""
        self._sheet.expect("end", bool(self.ended), "the stream ends without it")
        if self.ended == "end":
            self._sheet.expect("done", self._done == 1, f"{self._done} of them")
            left = [name for (name, _), count in self._nodes.items() if count > 0]
            self._sheet.expect("nodes", not left, f"{left[:3]} still run")

    def _check_place(self, name: str, text: str) -> None:
        is_first = self._number == 1
        if name == "session":
            self.session = self.session or text
        good = (name == "session") == is_first and (not is_first or bool(text))
        self.expect("session-first", good, f"{name} {text!r}")
        self.expect("end", not self.ended, f"{name} after {self.ended}")

    def _read(self, name: str, data: Data, text: str) -> None:
        kind = str(data.get("type")) if name == "trace" else name
        known = kind in _KEYS
        wrong = [*checks.missing_keys(data, _KEYS.get(kind, ())), *checks.wrong_types(data, _TYPES)]
        if not known:
            wrong.append(f"no such trace: {kind}")
        if not self.expect("event-values", not wrong, f"{'; '.join(wrong)}: {text}"):
            return
        if "state_snapshot" in data:
            self._check_snapshot(kind, data)
        if kind in ("node_start", "node_end"):
            self._take_node(kind, (data["node"], data["step"]))
        elif kind == "done":
            self._done += 1
            said = f"{data['total_steps']} steps, and {self._steps} were sent"
            self.expect("done", data["total_steps"] == self._steps, said)
        elif kind == "tool_call":
            self._tools.add(data["name"])
        elif kind == "tool_result":
            good = self._continues or data["name"] in self._tools
            self.expect("results", good, f"{data['name']} was not called")
        elif kind == "interrupt":
            self.questions.append(data)

    def _take_node(self, kind: str, node: tuple[str, int]) -> None:
        running = self._nodes.get(node, 0)
        if kind == "node_start":
            self._steps += 1
            self._nodes[node] = running + 1
            self._sheet.seen("nodes")
        else:
            said = f"{node[0]}, step {node[1]}, ends and does not run"
            self.expect("nodes", running > 0, said)
            self._nodes[node] = running - 1

    def _check_snapshot(self, kind: str, data: Data) -> None:
        snapshot = data["state_snapshot"]
        sides = [snapshot.get("input"), snapshot.get("output")]
        good = all(isinstance(side, dict) for side in sides)
        if not self.expect("snapshots", good, f"keys {[*snapshot]}"):
            return
        deepest = max(map(_depth, sides))
        self.expect("depth", deepest <= DEPTH, f"{deepest} levels")
        if "state_keys" in data:
            side = sides[0] if kind == "node_start" else sides[1]
            said = f"{data['state_keys']} for {[*side]}"
            self.expect("state-keys", set(map(str, data["state_keys"])) == set(side), said)


def _depth(value: Any) -> int:
    """Return how many levels of objects and lists are inside each other; empty ones do not count."""
    deepest, waiting = 0, [(value, 1)]  # not recursive: a server decides how deep it is
    while waiting:
        each, level = waiting.pop()
        inside = each.values() if isinstance(each, dict) else each if isinstance(each, list) else ()
        if inside:
            deepest = max(deepest, level)
        waiting += [(held, level + 1) for held in inside]
    return deepest


# ---------------------------------------------------------------------- the driver


async def run(probe: checks.Probe) -> None:
    """Try everything."""
    talk = _Talk(probe)
    for number, prompt in enumerate(probe.options.prompts):
        await talk.say(prompt, first=not number)
    await talk.get()
    body = {"input": probe.options.prompts[0]}
    await checks.leave_early(probe, lambda: body)
    await checks.send_mistakes(probe, lambda _: False, body)


class _Talk:
    def __init__(self, probe: checks.Probe) -> None:
        self._probe = probe
        self._sheet = probe.sheet

    async def say(self, prompt: str, *, first: bool) -> None:
        """Send a prompt in a new session, answer what is asked, and say it again."""
        self._probe.trying(checks.shortened(prompt))
        answer = await self._probe.post({"input": prompt})
        stream = self._judge(answer, first=first)
        if stream is None:
            return
        if stream.questions:
            await self._answer(stream)
        elif first and stream.ended == "end":
            await self._reconnect(answer)
            await self._again(prompt, stream.session)

    def _judge(
        self, answer: checks.HttpResponse, *, first: bool = False, continues: bool = False
    ) -> Stream | None:
        if not checks.check_stream(self._sheet, answer, first=first):
            return None
        stream = Stream(self._sheet, continues)
        for frame in answer.frames:
            stream.take(frame)
        stream.finish()
        return stream

    async def _again(self, prompt: str, session: str) -> None:
        self._probe.trying(f"{checks.shortened(prompt)}, again in the same session")
        answer = await self._probe.post({"input": prompt, "session_id": session})
        stream = self._judge(answer) if answer.status == 200 else None
        came = stream.session if stream is not None else answer.text
        self._sheet.expect("session-kept", came == session, f"{came} where {session} was sent")

    async def _answer(self, asked: Stream) -> None:
        """Answer each approval as the user wished."""
        approvals = [each for each in asked.questions if each.get("type") == "approval"]
        data = [each.get("data") for each in approvals]
        known = [each for each in data if isinstance(each, dict) and "id" in each]
        if not known or len(known) != len(asked.questions):
            return  # a question that only a person can answer
        approved = self._probe.options.approve
        self._probe.trying(f"{self._sheet.where}, {'approved' if approved else 'denied'}")
        answers = [
            {"id": each["id"], "call": each.get("call"), "approved": approved} for each in known
        ]
        answer = await self._probe.post({"session_id": asked.session, "answers": answers})
        stream = self._judge(answer, continues=True) if answer.status == 200 else None
        good = stream is not None and stream.session == asked.session and stream.ended != "error"
        self._sheet.expect("interrupt-answer", good, answer.text)

    async def _reconnect(self, answer: checks.HttpResponse) -> None:
        """Come back in the middle and after the end, where the server gives frames an id."""
        frames = answer.frames
        middle = len(frames) // 2
        if middle < 1 or not frames[middle - 1].id:
            return
        self._probe.trying("coming back with Last-Event-ID")
        rest = await self._get("", frames[middle - 1].id)
        checks.check_rest(self._sheet, frames[middle:], rest)
        after = await self._get("", frames[-1].id)
        self._sheet.expect("reconnect", after.status == 204, f"after the end: {after.text}")

    async def _get(self, prompt: str, last_id: str = "") -> checks.HttpResponse:
        mark = "&" if "?" in self._probe.endpoint else "?"
        url = f"{self._probe.endpoint}{mark}{urlencode({'input': prompt})}"
        headers = {"accept": "text/event-stream", **({"last-event-id": last_id} if last_id else {})}
        return await self._probe.exchange.send("GET", url, headers=headers)

    async def get(self) -> None:
        """Run with a GET."""
        prompt = self._probe.options.prompts[0]
        self._probe.trying(f"{checks.shortened(prompt)}, with GET")
        answer = await self._get(prompt)
        stream = self._judge(answer) if answer.status == 200 else None
        self._sheet.expect("get", stream is not None and bool(answer.frames), answer.text)


DRIVER = checks.Driver(name="studio", own_path="/api/studio/{app}/stream", run=run)
