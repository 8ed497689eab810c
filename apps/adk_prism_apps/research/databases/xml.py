"""XML from a service: a tree, or `BadAnswer`.

defusedxml refuses entity declarations and external references, whatever the encoding, so that an answer
can neither expand without bound nor read a file. A document type that only names a DTD, as PubMed's
does, is accepted; the DTD is not fetched.
"""

from __future__ import annotations

from xml.etree.ElementTree import Element, ParseError

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import fromstring

from .database import BadAnswer


def xml_tree(content: bytes) -> Element:
    """Return the root; tags in a namespace are written `{uri}name`."""
    try:
        root: Element = fromstring(content)
    except DefusedXmlException as problem:
        raise BadAnswer("The answer is XML that declares entities of its own.") from problem
    except (ParseError, LookupError, ValueError) as problem:  # the last two: an unknown encoding
        raise BadAnswer("The answer is not complete XML.") from problem
    return root


def text_of(node: Element | None, path: str = "") -> str:
    """Return all text below a node, or below what the path leads to; empty if it is not there."""
    found = node.find(path) if node is not None and path else node
    return "" if found is None else "".join(found.itertext())
