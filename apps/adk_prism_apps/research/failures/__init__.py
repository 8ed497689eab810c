"""Why a search disappointed, with the numbers that say so, and what can be done about it at once."""

from .case import Past, Probes
from .classify import classify
from .expectation import expected_from_history, expected_locally
from .failure import Action, ActionKind, Failure, FailureType, Remedies
from .search_warnings import SearchWarning, search_warnings
from .thesaurus import Thesaurus, thesaurus

__all__ = [
    "Action",
    "ActionKind",
    "Failure",
    "FailureType",
    "Past",
    "Probes",
    "Remedies",
    "SearchWarning",
    "Thesaurus",
    "classify",
    "expected_from_history",
    "expected_locally",
    "search_warnings",
    "thesaurus",
]
