"""One server judged as one protocol: finds the address, tries everything, returns a report."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any
from urllib.parse import urlsplit

from msgspec import Struct

from adk_prism.conform import adk, ag_ui, ai_sdk, studio
from adk_prism.conform.check import Check, Result, Sheet, Verdict
from adk_prism.conform.exchange import CannotTry, Exchange, connected
from adk_prism.conform.npm_client import CHECK as CLIENT
from adk_prism.conform.npm_client import NpmClient, read_with
from adk_prism.conform.probe import Driver, Options, Probe
from adk_prism.conform.stream_checks import read_json
from adk_prism.console.client import shown_url
from adk_prism.errors import UsageError

DRIVERS: dict[str, Driver] = {
    each.name: each for each in (ai_sdk.DRIVER, ag_ui.DRIVER, adk.DRIVER, studio.DRIVER)
}


class Report(Struct, frozen=True, kw_only=True):
    """What was found."""

    url: str
    protocol: str
    prompts: tuple[str, ...]
    results: tuple[Result, ...]

    def count(self, verdict: Verdict) -> int:
        """Return how many checks have a verdict."""
        return sum(result.verdict == verdict for result in self.results)

    @property
    def conforms(self) -> bool:
        return not self.count("failed")


def checks_of(protocol: str) -> tuple[Check, ...]:
    """Return the checks of a protocol."""
    return (*DRIVERS[protocol].checks, CLIENT)


async def judge(
    protocol: str, options: Options, left_out: Collection[str] = (), client: NpmClient | None = None
) -> Report:
    """Try a server. Raise `CannotTry` if it cannot be tried, `UsageError` for an unknown check."""
    driver = DRIVERS[protocol]
    if urlsplit(options.url).scheme not in ("http", "https"):
        raise UsageError("URL must begin with http:// or https://.")
    sheet = Sheet(checks_of(protocol), left_out, _secrets(options))
    async with connected(options.url, options.headers, options.timeout) as exchange:
        endpoint = await _endpoint(driver, options, exchange)
        probe = Probe(options, exchange, sheet, endpoint)
        try:
            await driver.run(probe)
        except CannotTry as error:
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


def _secrets(options: Options) -> list[str]:
    """Return what a report must not show: what the user sends in headers and in the URL."""
    values = [*options.headers.values()]
    parts = urlsplit(options.url)
    words = [word for value in values for word in value.split()]
    return [each for each in (*values, *words, parts.password or "", parts.query) if len(each) > 3]


async def _endpoint(driver: Driver, options: Options, exchange: Exchange) -> str:
    """Return the address to try; below that of an adk-prism server, its first app's."""
    if options.app or not driver.own_path:
        return driver.endpoint(options.url, options.app)
    base = options.url.partition("?")[0].rstrip("/")
    version = await _get_json(exchange, f"{base}/version")
    if isinstance(version, dict) and "adkPrism" in version:
        names = await _get_json(exchange, f"{base}/list-apps")
        if isinstance(names, list) and names and isinstance(names[0], str):
            return driver.endpoint(options.url, names[0])
        raise CannotTry("the server lists no apps; name one with --app, or pass --header.")
    return driver.endpoint(options.url, "")


async def _get_json(exchange: Exchange, url: str) -> Any:
    answer = await exchange.send("GET", url)
    return read_json(answer.body.decode(errors="replace")) if answer.status == 200 else None
