"""The tools of the tour. All of them are harmless, and every result is synthetic and says so."""

from __future__ import annotations

import asyncio
import io
import math
import struct
import wave
import zlib
from collections.abc import AsyncGenerator, Callable
from typing import Any

from fastapi.openapi.models import OAuth2, OAuthFlowAuthorizationCode, OAuthFlows
from google.adk.auth.auth_credential import AuthCredential, AuthCredentialTypes, OAuth2Auth
from google.adk.auth.auth_tool import AuthConfig
from google.adk.events.event import Event
from google.adk.tools import FunctionTool, LongRunningFunctionTool, ToolContext
from google.adk.tools.base_tool import BaseTool
from google.genai import types

from adk_prism import client_tool

# A person who asked for silence wants it to end some day.
_LONGEST_SILENCE = 600.0


def get_weather(city: str) -> dict[str, Any]:
    """Tell the weather of a city."""
    return {"city": city, "sky": "sunny", "celsius": 21, "synthetic": True}


def write_report(
    title: str, body: str, tags: list[str], copies: int = 1, draft: bool = False
) -> dict[str, Any]:
    """Write a report."""
    words = len(body.split())
    return {"title": title, "words": words, "tags": tags, "draft": draft, "synthetic": True}


def find_order(number: int) -> dict[str, Any]:
    """Look an order up by its number."""
    return {"error": f"There is no order {number}.", "synthetic": True}


def always_fail() -> dict[str, Any]:
    """Fail with an exception that nothing catches."""
    raise RuntimeError("This tool always fails (synthetic).")


def send_invoice(customer: str, amount: float) -> dict[str, Any]:
    """Send an invoice. A person has to approve it."""
    return {"sent": True, "customer": customer, "amount": amount, "synthetic": True}


def delete_draft(name: str) -> dict[str, Any]:
    """Delete a draft. A person has to approve it."""
    return {"deleted": name, "synthetic": True}


def issue_refund(order: int, amount: float) -> dict[str, Any]:
    """Pay money back. A person has to approve it."""
    return {"refunded": amount, "order": order, "synthetic": True}


def order_print(pages: int) -> dict[str, Any]:
    """Order a print, which takes long. The first answer is only a ticket."""
    return {"status": "pending", "ticket": "print-1", "pages": pages, "synthetic": True}


def note_trip(destination: str, tool_context: ToolContext) -> dict[str, Any]:
    """Remember where the person wants to go."""
    legs = [{"from": "home", "to": destination}]
    tool_context.state["trip"] = {"to": destination, "legs": legs, "budget": {"currency": "EUR"}}
    tool_context.state["user:last_destination"] = destination
    tool_context.state["temp:scratch"] = "gone when the run ends"
    return {"noted": destination, "synthetic": True}


def note_budget(amount: int, tool_context: ToolContext) -> dict[str, Any]:
    """Remember what the trip may cost."""
    trip = dict(tool_context.state.get("trip", {}))
    trip["budget"] = {**trip.get("budget", {}), "amount": amount}
    tool_context.state["trip"] = trip
    return {"noted": amount, "synthetic": True}


async def save_note(name: str, text: str, tool_context: ToolContext) -> dict[str, Any]:
    """Save a text as an artifact."""
    part = types.Part(inline_data=types.Blob(mime_type="text/plain", data=text.encode()))
    version = await tool_context.save_artifact(name, part)
    return {"name": name, "version": version, "synthetic": True}


async def keep_silent(seconds: float) -> dict[str, Any]:
    """Say nothing for some seconds."""
    await asyncio.sleep(min(seconds, _LONGEST_SILENCE))
    return {"silent_for": seconds, "synthetic": True}


async def copy_files(count: int) -> AsyncGenerator[Event | dict[str, Any], None]:
    """Copy some files and report each one."""
    for number in range(1, count + 1):
        yield Event(content=types.ModelContent(f"File {number} of {count} is copied."))
    yield {"copied": count, "synthetic": True}


def read_calendar(day: str, tool_context: ToolContext) -> dict[str, Any]:
    """Read the person's calendar. It needs a sign-in first."""
    wanted = _calendar_sign_in()
    if tool_context.get_auth_response(wanted) is None:
        tool_context.request_credential(wanted)
        return {"status": "waiting for the person to sign in", "synthetic": True}
    return {"day": day, "entries": ["10:00 tour (synthetic)"], "synthetic": True}


def tour_tools() -> list[BaseTool]:
    """Return all of the root agent's own tools."""
    plain: list[Callable[..., Any]] = [get_weather, write_report, find_order, always_fail]
    plain += [note_trip, note_budget, save_note, keep_silent, copy_files, read_calendar]
    location = client_tool(
        "get_location",
        "Ask the person's device where it is.",
        {
            "type": "object",
            "properties": {"accuracy": {"type": "string", "enum": ["city", "exact"]}},
        },
    )
    return [
        *(FunctionTool(function) for function in plain),
        FunctionTool(send_invoice, require_confirmation=True),
        FunctionTool(delete_draft, require_confirmation=True),
        LongRunningFunctionTool(order_print),
        location,
    ]


def _calendar_sign_in() -> AuthConfig:
    # With the address given, ADK does not make one up with a random state.
    flow = OAuthFlowAuthorizationCode(
        authorizationUrl="https://accounts.example.com/authorize",
        tokenUrl="https://accounts.example.com/token",
        scopes={"calendar.read": "Read the calendar"},
    )
    address = (
        "https://accounts.example.com/authorize?client_id=tour&response_type=code&state=synthetic"
    )
    credential = AuthCredential(
        auth_type=AuthCredentialTypes.OAUTH2,
        oauth2=OAuth2Auth(client_id="tour", auth_uri=address, state="synthetic"),
    )
    return AuthConfig(
        auth_scheme=OAuth2(flows=OAuthFlows(authorizationCode=flow)),
        raw_auth_credential=credential,
        credential_key="tour_calendar",
    )


PCM_RATE = 24_000

WAV_RATE = 8_000


def png(side: int) -> bytes:
    """Return a square image of that many pixels a side, in the colours of a prism.

    It is stored without compression, so that its size follows from `side` and from nothing else.
    """
    rows = b"".join(b"\x00" + _row(y, side) for y in range(side))
    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    body = _block(b"IHDR", header) + _block(b"IDAT", zlib.compress(rows, 0)) + _block(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


def wav(seconds: float) -> bytes:
    """Return a sine tone as a WAV file: mono, 16 bit."""
    file = io.BytesIO()
    with wave.open(file, "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(WAV_RATE)
        out.writeframes(pcm(seconds, WAV_RATE))
    return file.getvalue()


def pcm(seconds: float, rate: int = PCM_RATE, pitch: int = 440) -> bytes:
    """Return a sine tone as raw 16-bit samples, least significant byte first."""
    samples = (math.sin(2 * math.pi * pitch * i / rate) for i in range(int(seconds * rate)))
    return b"".join(struct.pack("<h", round(8_000 * sample)) for sample in samples)


def _row(y: int, side: int) -> bytes:
    return b"".join(bytes((255 * x // side, 255 * y // side, 160)) for x in range(side))


def _block(kind: bytes, content: bytes) -> bytes:
    check = zlib.crc32(kind + content)
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", check)
