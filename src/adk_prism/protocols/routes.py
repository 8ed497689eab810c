"""The protocols of this server, and runs in any of them, also in one without routes of its own."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from adk_prism.errors import Unprocessable
from adk_prism.protocols.contract import ProtocolSpec
from adk_prism.protocols.registry import protocol, protocols
from adk_prism.server.identity.caller import caller_of
from adk_prism.server.request_bodies import StrictRoute
from adk_prism.server.request_names import AppName
from adk_prism.server.run_starter import Key, RunStarter, Sent
from adk_prism.server.run_streams import RunStreams


def routes(starter: RunStarter, streams: RunStreams) -> APIRouter:
    """Return the router of protocols."""
    router = APIRouter(prefix="/api/protocols", route_class=StrictRoute, tags=["protocols"])

    @router.get("")
    async def list_protocols() -> list[dict[str, Any]]:
        """Return the protocols in which runs can be streamed."""
        return [_shown(spec) for spec in protocols().specs.values()]

    @router.post("/{name}/{app_name}", response_class=Response)
    async def start(
        request: Request,
        name: str,
        app_name: AppName,
        body: dict[str, Any],
        dialect: Annotated[str, Query(description="Version of the protocol")] = "",
        key: Key = "",
    ) -> Response:
        """Start the run that a request body asks for in a protocol, and stream it."""
        spec = protocol(name)
        if spec.read_request is None:
            raise Unprocessable(f"Protocol {name!r} starts no runs; it can only stream them.")
        format = streams.format(request, spec, dialect)
        base = format.options.files.base
        sent = Sent(caller=caller_of(request), key=key, body=await request.body(), base=base)
        run = await starter.start(spec, app_name, spec.read_request(body), sent)
        return await streams.start(run, format)

    return router


def _shown(spec: ProtocolSpec[Any]) -> dict[str, Any]:
    return {
        "name": spec.name,
        "summary": spec.summary,
        "dialects": list(spec.dialects),
        "startsRuns": spec.read_request is not None,
        "resumesBy": spec.resumes_by,
    }
