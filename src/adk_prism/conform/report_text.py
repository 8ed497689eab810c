"""A report as text, JSON and JUnit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree

from adk_prism.conform.check import Check, Result, Verdict
from adk_prism.conform.conformance import Report

_MARKS: dict[Verdict, str] = {
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
    told: tuple[Verdict, ...] = ("passed", "failed", "advice", "not seen", "left out")
    counts = ", ".join(f"{report.count(each)} {each}" for each in told if report.count(each))
    return "\n".join([*lines, "", f"{verdict}: {counts}", ""])


def _result_lines(result: Result) -> Iterator[str]:
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


def list_text(checks: tuple[Check, ...]) -> str:
    """Return the checks of a protocol, as a table."""
    return "".join(f"{each.id:20} {each.level:7} {each.expected}\n" for each in checks)


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
