"""Why a search disappointed, with the numbers that say so, and what can be done about it at once."""

from .case import Past, Probes
from .cautions import Caution, cautions
from .classify import classify
from .expectation import expected_from_history, expected_locally
from .failure import Action, ActionKind, Failure, FailureType, Remedies
from .thesaurus import Thesaurus, thesaurus

__all__ = [
    "Action",
    "ActionKind",
    "Caution",
    "Failure",
    "FailureType",
    "Past",
    "Probes",
    "Remedies",
    "Thesaurus",
    "cautions",
    "classify",
    "expected_from_history",
    "expected_locally",
    "thesaurus",
]
