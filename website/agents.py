"""The site for coding agents: `python -m website.agents build`, after the site is built.

`llms.txt` is the start page as a list of links; `llms-full.txt` has every page that it lists, without the
project's history; and each page is there as the Markdown that it is made of, under its name with `.md`.
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

SUMMARY = """# adk-prism

> A server for agents that are written with Google's Agent Development Kit (ADK). It records each run once and
> serves it as ADK's own API, the Vercel AI SDK's stream (useChat), AG-UI, OpenAI's API, Studio traces, voice,
> and a web page with time travel.

"""

HISTORY = "The project"
"""The section of the start page that is about how the project came to be."""

_LINK = re.compile(r"\]\((?P<page>[^):#]+\.md)(?:#[^)]*)?\)")


def write(build: Path) -> None:
    """Write the files beside the pages of a built site."""
    staged, site = build / "docs", build / "site"
    for page in staged.rglob("*.md"):
        target = site / page.relative_to(staged)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(page, target)
    sections = _sections((staged / "README.md").read_text(encoding="utf-8"))
    lists = "\n\n".join(f"## {title}\n\n{text}" for title, text in sections.items())
    (site / "llms.txt").write_text(f"{SUMMARY}{lists}\n", encoding="utf-8")
    names = dict.fromkeys(
        found["page"]
        for title, text in sections.items()
        for found in _LINK.finditer(text)
        if title != HISTORY
    )
    whole = (f"<!-- {name} -->\n\n{(staged / name).read_text(encoding='utf-8')}" for name in names)
    (site / "llms-full.txt").write_text(SUMMARY + "\n\n".join(whole), encoding="utf-8")


def _sections(start: str) -> dict[str, str]:
    """Return the lists of the start page by their headings."""
    found: dict[str, str] = {}
    for section in re.split(r"^## ", start, flags=re.MULTILINE)[1:]:
        title, _, text = section.partition("\n")
        lines = [line for line in text.splitlines() if line.startswith("- [")]
        if lines:
            found[title.strip()] = "\n".join(lines)
    return found


if __name__ == "__main__":
    write(Path(sys.argv[1]))
