"""Why an answer can be trusted: confidence, citations and reasons, from tools and from text."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from adk_prism.extension import Extension

if TYPE_CHECKING:
    from collections.abc import Sequence

    from adk_prism.facts.run_reader import MakeAnnotator
    from adk_prism.server.settings import Settings


def _annotators(settings: Settings | None) -> Sequence[MakeAnnotator]:
    from adk_prism.features.proof.annotator import ProofAnnotator

    del settings
    return [partial(ProofAnnotator, prose=False)]


EXTENSION = Extension(
    name="proof", summary="confidence, citations and reasons behind answers", annotators=_annotators
)
