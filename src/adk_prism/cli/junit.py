"""Results as a JUnit file, which CI servers show as tests."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from adk_prism.cli import words
from adk_prism.errors import UsageError

_UNWRITABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML cannot hold."""


def write_junit(path: Path, found: dict[str, Any]) -> None:
    """Write the cases as tests. Raise `UsageError` if the file cannot be written."""
    missed = [case for case in found["cases"] if case["verdict"] != "passed"]
    counts = {"tests": str(len(found["cases"])), "failures": str(len(missed))}
    suite = ElementTree.Element("testsuite", {"name": found["evalSetId"], **counts})
    for case in found["cases"]:
        names = {"classname": found["evalSetId"], "name": _plain(case["id"])}
        test = ElementTree.SubElement(suite, "testcase", names)
        if case in missed:
            message = _plain(_why(case))
            failure = ElementTree.SubElement(test, "failure", {"message": message})
            failure.text = "\n".join(words.RUN_NAMED.format(run=run) for run in case["runs"])
    write_suite(path, suite)


def write_suite(path: Path, suite: ElementTree.Element) -> None:
    """Write a suite of tests. Raise `UsageError` if the file cannot be written."""
    try:
        ElementTree.ElementTree(suite).write(path, encoding="utf-8", xml_declaration=True)
    except OSError as error:
        raise UsageError(words.CANNOT_WRITE.format(file=path.name, why=error.strerror)) from None


def _why(case: dict[str, Any]) -> str:
    scores = [
        f"{each['name']} {each['score']} < {each['threshold']}"
        for each in case["metrics"]
        if each["verdict"] == "failed"
    ]
    return "; ".join(filter(None, [case.get("error"), *scores])) or str(case["verdict"])


def _plain(text: str) -> str:
    return _UNWRITABLE.sub("�", text)
