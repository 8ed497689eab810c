"""Who says something, as metadata of what is said."""

from __future__ import annotations

from typing import Any

from adk_prism.facts.model import Speaker
from adk_prism.projection.ag_ui.frames import Json


def spoken_by(speaker: Speaker, **more: Any) -> Json:
    """Return the metadata of a message or call: its author, and where in the agent tree that is."""
    adk: Json = {"author": speaker.author}
    if speaker.path:
        adk["path"] = speaker.path
    if speaker.branch:
        adk["branch"] = speaker.branch
    return {"adk": adk | more}
