"""A loopback server that talks like Gemini's live API, for ADK's real `Gemini` class.

It follows `BidiGenerateContent` as google-genai 2.34 speaks it, over TLS, which that client insists on. Two
families: 2.5 completes the turn of a tool call, 3.1 does not and takes text as realtime input.
"""

from __future__ import annotations

import asyncio
import base64
import datetime
import ipaddress
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from websockets.asyncio.server import ServerConnection, serve

Json = dict[str, Any]
Family = Literal["2.5", "3.1"]
HANDLE = "a-secret-handle"
PIECE = b"\1\0" * 240
CALLS: dict[str, tuple[str, list[tuple[str, str, Json]]]] = {
    "pay": ("Paid.", [("c4", "pay", {"amount": 4})]),
    "pay twice": ("Paid.", [("c1", "pay", {"amount": 1}), ("c2", "pay", {"amount": 2})]),
    "place": ("Here.", [("c5", "place", {})]),
}
"""Prompts that make it call, and what it says to the answers."""


@dataclass
class LoopbackLive:
    """The server's address, and what came to it."""

    url: str
    family: Family = "2.5"
    connections: list[str | None] = field(default_factory=list)
    """The resumption handle of each connection."""
    sound: bytearray = field(default_factory=bytearray)
    answers: dict[str, Json] = field(default_factory=dict)
    setups: list[Json] = field(default_factory=list)
    sent: list[Json] = field(default_factory=list)
    """Contents, texts and tool responses, of all connections."""
    reconnected: asyncio.Event = field(default_factory=asyncio.Event)


def certificate(folder: Path) -> tuple[Path, Path]:
    """Make a certificate for this machine; return its file and its key's."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "loopback")])
    now = datetime.datetime.now(datetime.UTC)
    address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([address]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    held, secret = folder / "loopback.pem", folder / "loopback.key"
    held.write_bytes(made.public_bytes(pem))
    secret.write_bytes(
        key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return held, secret


@asynccontextmanager
async def serve_gemini_live(
    files: tuple[Path, Path], family: Family
) -> AsyncIterator[LoopbackLive]:
    """Serve one family of models."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*files)
    found = LoopbackLive("")

    async def handle(socket: ServerConnection) -> None:
        await _Session(found, socket, family).run()

    async with serve(handle, "127.0.0.1", 0, ssl=context) as server:
        found.url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        yield found


class _Session:
    """One connection of the client."""

    def __init__(self, server: LoopbackLive, socket: ServerConnection, family: Family) -> None:
        self._server = server
        self._socket = socket
        self._family = family
        self._talking: asyncio.Task[None] | None = None
        self._waiting: set[str] = set()
        self._then = ""
        """What is said when all calls are answered."""
        self._heard = 0

    async def run(self) -> None:
        try:
            async for raw in self._socket:
                await self._take(_camel(json.loads(raw)))
        finally:
            if self._talking is not None:
                self._talking.cancel()

    async def _send(self, **message: Any) -> None:
        await self._socket.send(json.dumps(message).encode())

    async def _content(self, **content: Any) -> None:
        await self._send(serverContent=content)

    async def _take(self, message: Json) -> None:
        if "setup" in message:
            setup = _camel(message["setup"])
            self._server.setups.append(setup)
            resumption = setup.get("sessionResumption") or {}
            self._server.connections.append(resumption.get("handle"))
            if len(self._server.connections) > 1:
                self._server.reconnected.set()
            await self._send(setupComplete={"sessionId": "s1"})
            await self._send(sessionResumptionUpdate={"newHandle": HANDLE, "resumable": True})
            return
        if "text" in message.get("realtimeInput", {"text": ""}):  # Not audio and signals.
            self._server.sent.append(message)
        if "clientContent" in message:
            await self._read(_camel(message["clientContent"]))
        elif "realtimeInput" in message:
            await self._hear(_camel(message["realtimeInput"]))
        elif "toolResponse" in message:
            await self._answered(_camel(message["toolResponse"])["functionResponses"])

    async def _read(self, content: Json) -> None:
        await self._interrupt()
        if content.get("turnComplete"):
            await self._prompt(content["turns"][-1]["parts"][0].get("text", ""))

    async def _hear(self, given: Json) -> None:
        blob = given.get("audio") or next(iter(given.get("mediaChunks") or []), None)
        if given.get("text"):
            await self._interrupt()
            await self._prompt(given["text"])
        elif blob:
            data = base64.urlsafe_b64decode(blob["data"])
            self._server.sound += data
            self._heard += len(data)
        elif given.get("activityStart") is not None:
            await self._interrupt()
        elif given.get("audioStreamEnd") or given.get("activityEnd") is not None:
            await self._transcribe(["I heard ", f"{self._heard} bytes"])
            self._heard = 0
            await self._say("Good.")

    async def _transcribe(self, pieces: list[str]) -> None:
        if self._family == "3.1":  # whole, and without a word that it is
            await self._content(inputTranscription={"text": "".join(pieces)})
            return
        for piece in pieces:
            await self._content(inputTranscription={"text": piece})

    async def _interrupt(self) -> None:
        if self._talking is not None and not self._talking.done():
            self._talking.cancel()
            await self._content(interrupted=True)
            await self._content(turnComplete=True)

    async def _prompt(self, text: str) -> None:
        if text in CALLS:
            self._then, calls = CALLS[text]
            await self._call(calls)
        elif text == "pay by mistake":
            await self._call([("c3", "pay", {"amount": 3})], withdrawn=True)
            await self._say("Sorry.")
        elif text == "never mind":
            await self._withdraw()
            await self._say("Fine.")
        elif text == "talk":
            self._talking = asyncio.create_task(self._talk())
        elif text == "go away":
            await self._send(goAway={"timeLeft": "1s"})
        else:
            await self._say(f"You said {text}.")

    async def _call(self, calls: list[tuple[str, str, Json]], *, withdrawn: bool = False) -> None:
        await self._content(outputTranscription={"text": "One moment. "})
        self._waiting = {call for call, _, _ in calls}
        told = [{"id": call, "name": name, "args": args} for call, name, args in calls]
        await self._send(toolCall={"functionCalls": told})
        if withdrawn:
            await self._withdraw()
        if self._family == "2.5":
            await self._content(turnComplete=True)

    async def _withdraw(self) -> None:
        await self._send(toolCallCancellation={"ids": sorted(self._waiting)})
        self._waiting.clear()

    async def _sound(self) -> None:
        blob = {"mimeType": "audio/pcm;rate=24000", "data": base64.b64encode(PIECE).decode()}
        await self._content(modelTurn={"role": "model", "parts": [{"inlineData": blob}]})

    async def _say(self, text: str) -> None:
        for word in text.split(" "):
            await self._content(outputTranscription={"text": f"{word} "})
            await self._sound()
        await self._content(generationComplete=True)
        usage = {"totalTokenCount": 9, "promptTokenCount": 4, "responseTokenCount": 5}
        await self._send(serverContent={"turnComplete": True}, usageMetadata=usage)

    async def _talk(self) -> None:
        while True:
            await self._content(outputTranscription={"text": "and "})
            await self._sound()
            await asyncio.sleep(0.002)

    async def _answered(self, answers: list[Json]) -> None:
        for answer in answers:
            self._server.answers[answer["id"]] = answer["response"]
            self._waiting.discard(answer["id"])
        if not self._waiting:
            await self._say(self._then)


def _camel(message: Json) -> Json:
    """Return a message with the keys of the API: the client writes some of them in snake_case."""

    def spelled(key: str) -> str:
        first, *rest = key.split("_")
        return first + "".join(word.title() for word in rest)

    return {spelled(key): value for key, value in message.items()}
