"""Check the built site: `python -m website.links build/site`.

Every link leads to a file, every anchor to an element in it, and no page loads anything from another host.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {("img", "src"), ("script", "src"), ("link", "href"), ("iframe", "src"), ("source", "src")}
FOREIGN_STYLE = re.compile(r"url\(\s*[\"']?(?:https?:)?//[^)]*\)|@import\s+[\"']?(?:https?:)?//\S*")


class Page(HTMLParser):
    """What one page links to, loads, and can be linked to at."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note links, loaded files and anchors."""
        for name, value in attrs:
            if name == "id" or (tag == "a" and name == "name"):
                self.anchors.add(value or "")
            elif (tag, name) in LOADED:
                self.loads.append(value or "")
            elif tag == "a" and name == "href":
                self.links.append(value or "")


def problems(site: Path) -> Iterator[str]:
    """Yield a line for everything that leads nowhere or elsewhere."""
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}
    for path, page in pages.items():
        name = path.relative_to(site)
        yield from (f"{name} loads {each}" for each in page.loads if _is_foreign(each))
        for link in dict.fromkeys([*page.links, *page.loads]):
            if not _is_foreign(link) and not _leads(link, path, pages, site):
                yield f"{name} links to {link}, which is not there"
    for style in site.rglob("*.css"):
        for found in FOREIGN_STYLE.findall(style.read_text(encoding="utf-8")):
            yield f"{style.relative_to(site)} loads {found}"


def _is_foreign(link: str) -> bool:
    parts = urlsplit(link)
    return bool(parts.netloc) or parts.scheme not in ("", "data")


def _leads(link: str, path: Path, pages: dict[Path, Page], site: Path) -> bool:
    parts = urlsplit(link)
    if parts.scheme == "data":
        return True
    if path.name == "404.html":  # its links are written for the root of a host
        parts = parts._replace(path=parts.path.lstrip("/") or "index.html")
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if target.is_dir():
        target /= "index.html"
    if site.resolve() not in target.parents or not target.is_file():
        return False
    page = pages.get(target)
    anchor = unquote(parts.fragment)
    return not anchor or anchor == "__skip" or page is None or anchor in page.anchors


def main(site: Path) -> int:
    """Print the problems; return 1 if there are any."""
    site = site.resolve()
    found = list(problems(site))
    print(
        "\n".join(found) or f"{len(list(site.rglob('*.html')))} pages: every link leads somewhere"
    )
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
