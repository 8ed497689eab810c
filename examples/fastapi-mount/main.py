"""A shop with routes and a sign-in of its own, and its agent under /agents: uvicorn main:app."""

from __future__ import annotations

import secrets
from html import escape
from typing import Annotated

from agent import app as shop_agent
from fastapi import Depends, FastAPI, Form, HTTPException
from fastapi.responses import HTMLResponse, RedirectResponse
from google.adk.runners import Runner
from google.adk.sessions import DatabaseSessionService
from shop import orders_of
from starlette.requests import HTTPConnection

from adk_prism import Prism

SESSIONS: dict[str, str] = {}
"""Who is signed in, by cookie: put your own sessions here."""


def user_of(connection: HTTPConnection) -> str | None:
    """Return who calls: asked by our routes, and by adk-prism with every request and socket."""
    return SESSIONS.get(connection.cookies.get("session", ""))


def signed_in(connection: HTTPConnection) -> str:
    """Return the user of a route that needs one."""
    if user := user_of(connection):
        return user
    raise HTTPException(401, "Sign in first.")


sessions = DatabaseSessionService("sqlite+aiosqlite:///shop.db")
prism = Prism({"shop": Runner(app=shop_agent, session_service=sessions)}, authenticate=user_of)

app = FastAPI(title="Shop", lifespan=prism.lifespan)
app.mount("/agents", prism)


@app.get("/orders")
def orders(user: Annotated[str, Depends(signed_in)]) -> dict[int, str]:
    """A route of the shop's own, behind the same sign-in."""
    return orders_of(user)


@app.get("/", response_class=HTMLResponse)
def home(connection: HTTPConnection) -> str:
    """The shop's own page."""
    if not (user := user_of(connection)):
        return (
            "<form method=post action=sign-in><label>Name <input name=user required></label> "
            "<button>Sign in</button></form>"
        )
    rows = "".join(f"<li>{number}: {state}</li>" for number, state in orders_of(user).items())
    return f"<h1>Orders of {escape(user)}</h1><ul>{rows}</ul><a href=agents/>Ask the agent</a>"


@app.post("/sign-in")
def sign_in(user: Annotated[str, Form(pattern=r"^[\w.@-]{1,64}$")]) -> RedirectResponse:
    """Believe every name. Yours asks for a password, or another service."""
    session = secrets.token_urlsafe()
    SESSIONS[session] = user
    answer = RedirectResponse("/", status_code=303)
    # Lax: pages of other sites cannot post with it.
    answer.set_cookie("session", session, httponly=True, samesite="lax")
    return answer
