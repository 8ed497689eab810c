"""The routers of a server, each made of the parts that it uses.

Their order counts where two routes fit one path: the first is taken.
"""

from __future__ import annotations

from collections.abc import Iterator

from fastapi import APIRouter, FastAPI
from fastapi.routing import APIRoute

from adk_prism.pipeline.entry_detail import EntryDetails
from adk_prism.pipeline.eval_cases import EvalCases
from adk_prism.pipeline.feedback import Feedbacks
from adk_prism.pipeline.model_calls import ModelCalls
from adk_prism.pipeline.reruns import Reruns
from adk_prism.pipeline.rewinds import Rewinds
from adk_prism.server import index_page, web_page
from adk_prism.server.context import Context
from adk_prism.server.conversation_title import ConversationTitles
from adk_prism.server.price_list import prices_of
from adk_prism.server.problem_format import RESPONSES
from adk_prism.server.routes import (
    a2a,
    adk_artifacts_and_memory,
    adk_live,
    adk_meta,
    adk_run,
    adk_sessions,
    adk_trace,
    ag_ui,
    agents,
    audit,
    catalogue,
    chat,
    chat_socket,
    compare,
    connection_check,
    conversations,
    copilotkit,
    error_tracebacks,
    eval_cases,
    evals,
    feedback,
    film,
    forks,
    live,
    me,
    metrics,
    model_calls,
    protocols,
    ready,
    recorder,
    recordings,
    rerun,
    runs,
    setup,
    share_links,
    studio,
    tickets,
    views,
)


def add_routes(app: FastAPI, context: Context) -> None:
    """Add every route as it is.

    `include_router` reads the signature of each of them again, at the first request; for a hundred
    routes that takes as long as making them.
    """
    for router in _routers(context):
        for route in router.routes:
            if isinstance(route, APIRoute):
                route.responses = {**RESPONSES, **route.responses}
            app.router.routes.append(route)


def _routers(context: Context) -> Iterator[APIRouter]:
    calls = ModelCalls(context.log, prices_of(context.settings))
    yield from _of_pages_and_apps(context)
    yield from _of_adk(context, calls)
    yield from _of_chats(context)
    yield from _of_runs(context, calls)
    yield from _of_protocols(context)
    yield from _of_operation(context)


def _of_pages_and_apps(context: Context) -> Iterator[APIRouter]:
    apps, log, error_texts = context.apps, context.log, context.errors
    yield index_page.routes(context.settings, apps, context.identity)
    yield web_page.routes()
    yield catalogue.routes(apps, log, context.deletions, context.chats, error_texts)
    yield agents.routes(apps, context.observability.secrets, context.report)
    yield error_tracebacks.routes(error_texts)


def _of_adk(context: Context, calls: ModelCalls) -> Iterator[APIRouter]:
    apps, log, lifecycle = context.apps, context.log, context.lifecycle
    yield adk_meta.routes(apps, lifecycle)
    yield adk_trace.TraceRoutes(log, context.chats, calls).router()
    yield ready.routes(log, apps, lifecycle)
    yield adk_sessions.SessionRoutes(
        apps,
        context.locks,
        log,
        context.deletions,
        context.branches,
        Rewinds(apps, context.runs, context.chats, context.branches, context.report),
        context.client_state,
        context.audit,
        lifecycle,
    ).router()
    yield adk_artifacts_and_memory.ArtifactRoutes(apps, context.audit).router()
    yield adk_run.RunRoutes(apps, log, context.starter, context.streams).router()


def _of_chats(context: Context) -> Iterator[APIRouter]:
    yield chat.ChatRoutes(
        context.apps,
        context.chats,
        context.canceller,
        context.audit,
        context.starter,
        context.streams,
        context.heavy,
    ).router()
    yield conversations.routes(context)
    yield chat_socket.routes(context)
    yield live.routes(context)
    yield adk_live.routes(context)


def _of_runs(context: Context, calls: ModelCalls) -> Iterator[APIRouter]:
    apps, log, lifecycle = context.apps, context.log, context.lifecycle
    chats, audit_log, idempotency = context.chats, context.audit, context.idempotency
    cases, titles, heavy = EvalCases(log, chats), ConversationTitles(log, chats), context.heavy
    yield runs.RunsRoutes(
        log,
        context.run_index,
        chats,
        context.canceller,
        context.files,
        audit_log,
        context.streams,
        calls,
        titles,
    ).router()
    yield model_calls.routes(calls, log)
    yield feedback.routes(apps, log, chats, Feedbacks(log, context.run_index))
    yield views.routes(log, context.films, heavy)
    yield compare.routes(log, chats, calls, heavy)
    yield eval_cases.routes(log, cases, heavy)
    yield evals.EvalRoutes(context.evaluator, cases, apps, log, lifecycle).router()
    yield film.FilmRoutes(
        context.films, EntryDetails(log), chats, apps, lifecycle, calls, titles, log, heavy
    ).router()
    yield forks.ForkRoutes(
        apps, log, context.forks, context.client_state, idempotency, audit_log, lifecycle
    ).router()
    again = Reruns(
        log, apps, context.runs, chats, context.forks, context.conversations, context.report
    )
    yield rerun.routes(log, again, idempotency, audit_log, lifecycle)
    yield recordings.routes(context.uploads, lifecycle, log)
    yield recorder.routes(context.recorded, lifecycle)


def _of_protocols(context: Context) -> Iterator[APIRouter]:
    yield studio.StudioRoutes(context.apps, context.log, context.starter, context.streams).router()
    yield ag_ui.routes(context)
    yield copilotkit.routes(context)
    yield a2a.routes(context)
    yield protocols.routes(context.starter, context.streams)


def _of_operation(context: Context) -> Iterator[APIRouter]:
    settings, log = context.settings, context.log
    yield tickets.routes(context.tickets)
    yield me.routes()
    yield connection_check.routes(settings, context.lifecycle)
    yield share_links.LinkRoutes(context.links, log, context.audit, settings).router()
    yield metrics.routes(context.metrics)
    yield audit.routes(context.audit)
    yield setup.routes(
        settings, log, reloads=settings.reloads(listens=context.observability.listens)
    )
