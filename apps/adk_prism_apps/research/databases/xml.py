"""XML from strangers: a tree, or `BadAnswer`.

Document types with declarations of their own are refused, whatever their encoding, so that no entity
can be defined: neither a bomb nor a file. PubMed's document type only points elsewhere; expat does
not follow it.
"""

from __future__ import annotations

from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from .database import BadAnswer

# Records nest some ten deep; what goes on much deeper is not one.
_DEEPEST = 100


def xml_tree(content: bytes) -> Element:
    """Return the root; tags in a namespace are written `{uri}name`, as ElementTree does."""
    builder = _Builder()
    parser = expat.ParserCreate(namespace_separator="}")
    parser.buffer_text = True
    parser.StartElementHandler = builder.start
    parser.EndElementHandler = builder.end
    parser.CharacterDataHandler = builder.tree.data
    parser.StartDoctypeDeclHandler = builder.doctype
    try:
        parser.Parse(content, True)
        root: Element = builder.tree.close()
    except (expat.ExpatError, AssertionError) as problem:
        raise BadAnswer("The answer is not complete XML.") from problem
    return root


class _Builder:
    def __init__(self) -> None:
        self.tree = TreeBuilder()
        self._depth = 0

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise BadAnswer("The answer is XML nested deeper than any record.")
        named = {_named(name): value for name, value in attributes.items()}
        self.tree.start(_named(tag), named)

    def end(self, tag: str) -> None:
        self._depth -= 1
        self.tree.end(_named(tag))

    def doctype(self, *declared: object) -> None:
        """Refuse a document type whose last property says that it declares something itself."""
        if declared[-1]:
            raise BadAnswer("The answer is XML that declares entities of its own.")


def _named(name: str) -> str:
    return "{" + name if "}" in name else name


def text_of(node: Element | None, path: str = "") -> str:
    """Return all text below a node, or below what the path leads to; empty if it is not there."""
    found = node.find(path) if node is not None and path else node
    return "" if found is None else "".join(found.itertext())
