"""The grammar of changes: a table of patterns, each of one change, and what they mean.

Patterns are tried in order: filters first, then words to add, leave out, replace or search for instead, which
reach to the next border of a clause. `changes` reads messages with them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ..databases.kinds import KIND_NAMES, kind_named
from ..planning.question import is_remark

BORDER = " ; "


@dataclass(slots=True)
class Changes:
    """What is to change; None and empty mean as it was."""

    since: int | None = None
    until: int | None = None
    any_year: bool = False
    kinds: list[str] = field(default_factory=list)
    without_kinds: list[str] = field(default_factory=list)
    any_kind: bool = False
    fields: list[str] = field(default_factory=list)
    any_field: bool = False
    database: str = ""
    unsupported: str = ""
    """A database that was named and that no tool asks."""
    cannot: list[str] = field(default_factory=list)
    """Wishes that no filter here can hold, as they were written: "most cited", "open access"."""
    add: list[str] = field(default_factory=list)
    only: list[str] = field(default_factory=list)
    """Words that the papers are to be narrowed to: a part of the query, or a word more."""
    drop: list[str] = field(default_factory=list)
    limit: int | None = None
    query: str = ""
    """Words to search for, as they were written."""
    topic: str = ""
    """Another subject, in a sentence: "I meant malaria"."""
    rest: str = ""
    """What was not understood as a change."""

    @property
    def any(self) -> bool:
        """Whether anything is to change."""
        return self != Changes(rest=self.rest)

    @property
    def is_wish_alone(self) -> bool:
        """Whether all that was read are wishes that no filter can hold."""
        return self == Changes(rest=self.rest, cannot=self.cannot)


Take = Callable[[Changes, Sequence[str], int], None]


def _years(since: int | None, until: int | None = None) -> Take:
    """Return a rule for the year that was read: what is added to it at either end; None: no such end."""

    def take(changes: Changes, groups: Sequence[str], year: int) -> None:
        if since is not None:
            changes.since = int(groups[0]) + since
        if until is not None:
            changes.until = int(groups[0]) + until

    return take


def _between(changes: Changes, groups: Sequence[str], year: int) -> None:
    changes.since, changes.until = sorted((int(groups[0]), int(groups[1])))


def _decade(changes: Changes, groups: Sequence[str], year: int) -> None:
    changes.since, changes.until = int(groups[0]) * 10, int(groups[0]) * 10 + 9


def _last_years(changes: Changes, groups: Sequence[str], year: int) -> None:
    changes.since = year - (_number(groups[0]) - 1)


def _years_old(changes: Changes, groups: Sequence[str], year: int) -> None:
    changes.since = year - _number(groups[0])


def _recent(changes: Changes, groups: Sequence[str], year: int) -> None:
    changes.since = year - (RECENT_YEARS - 1)


def _cannot(changes: Changes, groups: Sequence[str], year: int) -> None:
    changes.cannot.append(groups[0].strip())


def _last_decade(changes: Changes, groups: Sequence[str], year: int) -> None:
    changes.since = year - 9


def _last_year(changes: Changes, groups: Sequence[str], year: int) -> None:
    changes.since = year - 1


def _this_year(changes: Changes, groups: Sequence[str], year: int) -> None:
    changes.since = year


def _any_year(changes: Changes, groups: Sequence[str], year: int) -> None:
    changes.any_year = True


def _any_kind(changes: Changes, groups: Sequence[str], year: int) -> None:
    changes.any_kind = True


def _no_filters(changes: Changes, groups: Sequence[str], year: int) -> None:
    changes.any_year = changes.any_kind = changes.any_field = True


def _kinds(changes: Changes, groups: Sequence[str], year: int) -> None:
    changes.kinds += _kinds_in(groups[0])


def _without_kinds(changes: Changes, groups: Sequence[str], year: int) -> None:
    changes.without_kinds += _kinds_in(groups[0])


def _peer_reviewed(changes: Changes, groups: Sequence[str], year: int) -> None:
    changes.kinds += PEER_REVIEWED


def _limit(changes: Changes, groups: Sequence[str], year: int) -> None:
    changes.limit = int(groups[0])


def _fields(changes: Changes, groups: Sequence[str], year: int) -> None:
    changes.fields += _listed(groups[0])


def _add(changes: Changes, groups: Sequence[str], year: int) -> None:
    changes.add += _listed(groups[0])


def _only(changes: Changes, groups: Sequence[str], year: int) -> None:
    changes.only += [each for each in _listed(groups[0]) if not is_remark(each)]


def _drop(changes: Changes, groups: Sequence[str], year: int) -> None:
    changes.drop += _listed(groups[0])


def swap(changes: Changes, groups: Sequence[str], year: int) -> None:
    changes.drop += _listed(groups[0])
    changes.add += _listed(groups[1])


def _swap_back(changes: Changes, groups: Sequence[str], year: int) -> None:
    swap(changes, (groups[1], groups[0]), year)


def _query(changes: Changes, groups: Sequence[str], year: int) -> None:
    changes.query = groups[0].strip()


def _topic(changes: Changes, groups: Sequence[str], year: int) -> None:
    changes.topic = plain(groups[0])


RECENT_YEARS = 5
"""Years that "keep it recent" means; the plan shows the filter."""
PEER_REVIEWED = ("article", "conference", "review")
"""Kinds of publications that are usually reviewed by peers."""


def _kind_pattern(name: str) -> str:
    stemmed = re.escape(name).replace(r"\ ", r"\s+").replace(r"\-", "[- ]?")
    return f"{stemmed[:-2]}[ei]s" if name.endswith("sis") else f"{stemmed}s?"


_YEAR = r"((?:1[5-9]|20)\d\d)"
_KIND = "(?:" + "|".join(_kind_pattern(n) for n in sorted(KIND_NAMES, key=len, reverse=True)) + ")"
_KIND_LIST = rf"({_KIND}(?:\s*(?:,|/|&|\band\b|\bor\b|,\s*and\b|,\s*or\b)\s*{_KIND})*)\b"
_PAPERS = r"(?:papers?|articles?|results?|publications?|studies|hits|anything|work)"
_THEM = (
    rf"(?:(?:{_PAPERS}|everything|all|any|those|these|the|ones|things?|stuff|from|of|published|that|which|"
    r"is|are|was|were)\s+)*"
)
_TO = r"(?:and|to|until|till|through|-|–|—|&)"
_WISH = (
    r"(?:rather|prefer|want|like|need|have|see|read|get|give|show|make|switch|change|use|try|just)"
)
_EXCLUDE = (
    r"(?:without|exclud(?:e|ing)|except(?:\s+for)?|drop|remove|delete|skip|leave\s+out|ignore|avoid"
    r"|get\s+rid\s+of|throw\s+out|cut(?:\s+out)?|(?:do(?:n't|\s+not)|(?:would|did)(?:n't|\s+not))\s+(?:want|need|like|"
    r"include|show(?:\s+me)?|use|give\s+me|care\s+(?:for|about))(?:\s+to\s+(?:see|have|read|get))?)"
)
_NOT = rf"(?:no|not|nor|neither|{_EXCLUDE})"
_THE = r"(?:(?:the|any|all|a|of|my|it|this|that|search|plan|query)\s+)*"

_FILTERS: tuple[tuple[str, Take], ...] = (
    (
        rf"\b((?:before|until|up\s+to|older\s+than)\s+{_YEAR}\s+or\s+(?:after|since|from|newer\s+than)\s+{_YEAR})\b",
        _cannot,
    ),
    # Years: what excludes comes before what includes, ranges before single years.
    (
        rf"\b{_NOT}\s+{_THE}(?:years?|dates?)(?:\s+(?:filter|limit|restriction|range)s?)?\b",
        _any_year,
    ),
    (
        r"\b(?:any|all|every)\s+years?\b|\ball\s+time\b|\bregardless\s+of\s+(?:the\s+)?(?:year|date)s?\b",
        _any_year,
    ),
    (rf"\b{_NOT}\s+{_THE}filters?\b|\bclear\s+{_THE}filters?\b|\bunfiltered\b", _no_filters),
    (rf"\b(?:between|from)\s+{_YEAR}\s*{_TO}\s*{_YEAR}\b", _between),
    (rf"\b{_YEAR}\s*{_TO}\s*{_YEAR}\b", _between),
    (rf"\b(?:from\s+)?{_YEAR}\s*(?:-|–|—|to|until|till)\s*(?:present|now|today|date)\b", _years(0)),
    (r"\b(?:in|from|of|during)?\s*(?:the\s+)?((?:19|20)\d)0s\b", _decade),
    (
        rf"\b(?:{_NOT}|nothing|none)\s+{_THEM}(?:before|older\s+than|earlier"
        rf"\s+than|prior\s+to)\s+{_YEAR}\b",
        _years(0),
    ),
    (
        rf"\b(?:{_NOT}|nothing|none)\s+{_THEM}(?:after|newer\s+than|later"
        rf"\s+than)\s+{_YEAR}\b",
        _years(None, 0),
    ),
    (
        rf"\b(?:(?:{_NOT}|nothing|none)\s+{_THEM}(?:older|more)\s+than|newer\s+than|younger\s+than|less\s+than|at\s+most"
        r"|max(?:imum)?)\s+(\d+|\w+)\s+years?(?:\s+(?:old|ago))?\b",
        _years_old,
    ),
    (rf"(?:\byears?\s*)?(?:>=|≥)\s*{_YEAR}\b", _years(0)),
    (rf"(?:\byears?\s*)?(?:<=|≤)\s*{_YEAR}\b", _years(None, 0)),
    (rf"(?:\byears?\s*)?>\s*{_YEAR}\b", _years(1)),
    (rf"(?:\byears?\s*)?<\s*{_YEAR}\b", _years(None, -1)),
    (
        rf"\b(?:since|from|as\s+of|start(?:ing)?(?:\s+in|\s+from|\s+with)?)\s+{_YEAR}\b(?:"
        rf"\s+(?:on(?:wards?)?|forwards?|and\s+(?:later|newer|after|on)|or\s+(?:later|newer))\b)?",
        _years(0),
    ),
    (
        rf"\b{_YEAR}\s*\+|\b{_YEAR}\s+(?:on(?:wards?)?|(?:or|and)\s+(?:later|newer|after|up)|to\s+date)\b",
        _years(0),
    ),
    (
        rf"\b(?:after|newer\s+than|later\s+than|more\s+recent\s+than|younger\s+than)\s+{_YEAR}\b",
        _years(1),
    ),
    (rf"\b{_YEAR}\s+(?:or|and)\s+(?:earlier|older|before)\b", _years(None, 0)),
    (rf"\b(?:until|till|up\s+to|through|to|not\s+after)\s+{_YEAR}\b", _years(None, 0)),
    (rf"\b(?:before|older\s+than|earlier\s+than|prior\s+to)\s+{_YEAR}\b", _years(None, -1)),
    (
        rf"\b(?:only\s+)?(?:in|of|from\s+the\s+year|published\s+in|for|year)\s*:?\s+{_YEAR}\b(?:"
        rf"\s+only\b)?|\bonly\s+{_YEAR}\b|\b{_YEAR}\s+only\b",
        _years(0, 0),
    ),
    (
        r"\b(?:in\s+|from\s+|of\s+|within\s+|over\s+)?(?:the\s+)?(?:last|past|previous|recent)\s+(\d+"
        r"|\w+)\s+years?\b",
        _last_years,
    ),
    (
        r"\b(?:in\s+|from\s+|of\s+|within\s+|over\s+)?(?:the\s+)?(?:last|past)\s+decade\b",
        _last_decade,
    ),
    (r"\b(?:since\s+|from\s+|of\s+)?(?:the\s+)?(?:last|past|previous)\s+year\b", _last_year),
    (r"\b(?:from\s+|of\s+|in\s+)?this\s+year\b", _this_year),
    # Wishes that the databases here have no filter for: said, not searched for.
    (
        r"\b((?:the\s+)?(?:most|highly|best|top)[- ]cited"
        r"|(?:with\s+)?(?:at\s+least|more\s+than|over|min(?:imum)?)\s+\d+"
        r"\s+citations?|(?:sort(?:ed)?|ranked?|order(?:ed)?)\s+by\s+\w+(?:\s+count)?|by\s+impact\s+factor"
        r"|high\s+impact\s+factor)\b",
        _cannot,
    ),
    (
        rf"\b((?:only\s+|just\s+)?open[- ]access"
        rf"(?=\s+(?:only|{_PAPERS}|ones|please)|\s*(?:$|[,;.])))(?:\s+only\b)?",
        _cannot,
    ),
    (
        r"\b((?:only\s+(?:in\s+)?|written\s+in\s+)(?-i:English|German|French|Spanish|Chinese)"
        r"|(?-i:English|German|French|Spanish|Chinese)(?:\s+language)?\s+only)\b",
        _cannot,
    ),
    (
        r"\b(with\s+(?:open\s+|public\s+)?(?:code|data|source code)\s+available|with\s+available\s+code)\b",
        _cannot,
    ),
    # How many.
    (
        rf"\b(?:limit(?:\s+(?:it|this|them))?(?:\s+to)?|at\s+most|max(?:imum)?(?:\s+of)?|top|first|no\s+more\s+than"
        rf"|only|(?:fewer|less|more)(?:\s+(?:{_PAPERS}|ones|of\s+them))?\s*,?\s*(?:say|like|maybe|about|around|perhaps|just))"
        rf"\s*[:=]?\s*(?:the\s+)?(?:top\s+|first\s+|best\s+)?(\d{{1,3}})\b(?!\s*years?)(?:\s+(?:{_PAPERS}|ones)\b)?",
        _limit,
    ),
    (
        rf"\b(\d{{1,3}})\s+(?:{_PAPERS}\s+|ones\s+)?(?:is|are|would\s+be|will\s+be)\s+(?:enough|plenty|fine)\b",
        _limit,
    ),
    (rf"\b(\d{{1,3}})\s+(?={_PAPERS}\s+(?:on|about)\b)", _limit),
    (rf"\b(?:read|get|fetch|show|give\s+me)\s+(\d{{1,3}})\s+{_PAPERS}\b", _limit),
    # Kinds of publications.
    (
        rf"\bnot\s+(?:only|just)\s+{_KIND_LIST}|\b(?:any|all|every)\s+(?:kinds?|types?)\b(?:\s+of"
        rf"\s+{_PAPERS}\b)?|\b{_NOT}\s+{_THE}(?:kinds?|types?)(?:\s+filter)?\b",
        _any_kind,
    ),
    (rf"\b{_NOT}\s+(?:any\s+|the\s+)?{_KIND_LIST}", _without_kinds),
    (
        r"\b(?:only\s+)?peer[- ]?reviewed(?:\s+(?:papers?|articles?|work|ones|literature"
        r"|publications?))?(?:\s+only)?\b",
        _peer_reviewed,
    ),
    (
        rf"\b(?:only|just|exclusively|solely|nothing\s+but|(?:limit|restrict|narrow)(?:ed)?\s+(?:it\s+"
        rf"|this\s+)?(?:down\s+)?to)\s+(?:the\s+)?{_KIND_LIST}(?:\s+only\b)?",
        _kinds,
    ),
    (rf"\b{_KIND_LIST}\s+(?:only|alone|exclusively|instead)\b", _kinds),
    (rf"\bkinds?\s*[:=]\s*{_KIND_LIST}", _kinds),
    (
        rf"\b{_WISH}\s+(?:(?:to|me|us|it|some|have|see|read|get|only|just|rather|be|into)"
        rf"\s+)*(?!articles?\s+(?:that|which|on|about|for|in|of)\b){_KIND_LIST}(?!\s+(?:protocol|process))",
        _kinds,
    ),
    (r"\bfields?\s*[:=]\s*([^,;.\n]+)", _fields),
)
_TERMS = r"([^,;.:!?\n]+)"
_START = r"(?:^|(?<=[,;.:!?\n])|(?<=\band\s)|(?<=\bbut\s)|(?<=\bplease\s)|(?<=\bplan\s))\s*"
_CLAUSE_END = r"\s*(?=$|[,;.:!?\n])"
_WORDS: tuple[tuple[str, Take], ...] = (
    # A clause of nothing but a year or a kind; "recent", which only a change may mean as a filter.
    (rf"{_START}(?:(?:make|set)\s+(?:it|that|this)\s+)?{_YEAR}{_CLAUSE_END}", _years(0, 0)),
    (rf"{_START}(?:(?:make|set)\s+(?:it|that|this)\s+)?{_KIND_LIST}{_CLAUSE_END}", _kinds),
    (
        rf"\b(?:(?:keep|make)\s+(?:it|them|this|that)\s+(?:more\s+)?(?:recent|newer)|(?:only|just|more|something|some|the)\s+"
        rf"(?:more\s+)?(?:recent|newer|newest|latest)(?:\s+(?:ones?|stuff|{_PAPERS}))?|(?:recent|newer)\s+(?:ones?|stuff|{_PAPERS})"
        rf"(?:\s+only)?){_CLAUSE_END}",
        _recent,
    ),
    (r"\b(by\s+(?-i:[A-Z]\w+(?:\s+[A-Z]\w*\.?)*))" + _CLAUSE_END, _cannot),
    (r"\b((?:published|appeared)\s+in\s+(?:the\s+)?(?-i:[A-Z]\w+(?:\s+[A-Z]\w+)*))" + _CLAUSE_END, _cannot),
    (
        rf"\b(?:instead\s+of|rather\s+than|in\s+place\s+of)\s+([^,;.:!?\n]+?)\s*(?:,|\b(?:let'?s\s+(?:say|use|do|take)|use|take"
        rf"|say|try)\b)\s*{_TERMS}",
        swap,
    ),
    (rf"\b(?:{_PAPERS}|something|stuff|ones?)\s+(?:on|about)\s+{_TERMS}", _topic),
    (rf"{_TERMS}\s+(?:is\s+what\s+)?i\s+mea?nt?{_CLAUSE_END}", _topic),
    (rf"\b(?:replace|swap)\s+{_TERMS}?\s+(?:with|by|for)\s+{_TERMS}", swap),
    (
        rf"{_START}(?:(?:use|search(?:\s+for)?|take|say|with)\s+)?{_TERMS}?\s+(?:instead\s+of|rather"
        rf"\s+than|in\s+place\s+of)\s+{_TERMS}",
        _swap_back,
    ),
    (
        rf"\b(?:change|switch|set)\s+(?:(?:it|this|that|the|my|search|query|question|topic|subject"
        rf"|plan)\s+)+(?:to|into)\s+(?:be\s+about\s+|about\s+)?{_TERMS}",
        _topic,
    ),
    (
        rf"\b(?:i\s+(?:really\s+|actually\s+)?(?:meant?(?!\s+it)|said|asked\s+(?:for|about)|was\s+(?:looking\s+for|thinking\s+of|asking\s+"
        rf"(?:for|about)))|(?:go\s+)?back\s+to(?!\s+(?:work|business|that|it)\b)|make\s+(?:it|that"
        rf"|this)\s+about|let'?s\s+(?:do|look\s+at)|(?:my|the)\s+(?:question|topic|subject|query)"
        rf"\s+(?:is|should\s+be)(?:\s+about)?)\s+{_TERMS}",
        _topic,
    ),
    (
        rf"{_START}(?:(?:and|then|now|rather|instead|please|can\s+you|could\s+you|i'?d\s+(?:rather"
        rf"|like\s+to)|i\s+(?:would|want\s+to|need\s+to)(?:\s+(?:rather|like\s+to))?|let'?s)"
        rf"\s+)*(?:search(?:\s+(?:for|on|about))?|look(?:\s+(?:for|at|into))|find(?:\s+me)?)\s+{_TERMS}",
        _topic,
    ),
    (
        rf"\b(?:(?:also|and|please)\s+)*(?:add:?|also|plus|includ(?:e|ing)|focus(?:ing|ed)?(?:\s+it)?\s+on|concentrate\s+on"
        rf"|narrow(?:ed)?\s+(?:it\s+|this\s+)?(?:down\s+)?to|(?:limit|restrict)(?:ed)?\s+(?:it\s+"
        rf"|this\s+)?to|especially|specifically)\s+{_TERMS}",
        _add,
    ),
    (
        rf"\b(?:{_EXCLUDE}|not\s+about|minus)\s+{_TERMS}",
        _drop,
    ),
    (
        rf"{_START}(?:only|just)\s+(?:the\s+|those\s+)?(?:(?:{_PAPERS}|ones)\s+)?(?:(?:with|about|on|in|of|using|for)\s+)?"
        rf"{_TERMS}",
        _only,
    ),
    (rf"{_START}{_TERMS}\s+only{_CLAUSE_END}", _only),
    (
        rf"\b(?:the\s+)?same(?:\s+(?:thing|search|query|plan))?[\s,;]*(?:again\s+)?(?:for|with|in|on|about)\s+{_TERMS}",
        _add,
    ),
    (rf"{_START}(?:no|not)\s+([\w-]+(?:\s+(?:and|or)\s+[\w-]+|\s+[\w-]+)?)\s*(?=$|[,;.:!?])", _drop),
)  # fmt: skip
Patterns = tuple[tuple[re.Pattern[str], Take], ...]


def _compiled(rules: Sequence[tuple[str, Take]]) -> Patterns:
    return tuple((re.compile(pattern, re.I), take) for pattern, take in rules)


CLAUSES = re.compile(
    r"\bbut\b|\b(?:and|then)\s+(?=(?:then|please|add|also|plus|include|drop|remove|without|exclude|leave|"
    r"ignore|skip|no|not|search|look|find|focus|narrow|replace|swap|change|switch|make|use)\b)",
    re.I,
)
"""Where one change ends and the next one begins, besides punctuation."""
META = re.compile(
    r"\b(?:(?:i(?:'ve|\s+have)?\s+)?changed\s+my\s+mind|on\s+second\s+thoughts?|come\s+to\s+think\s+of\s+it|hold\s+on|wait"
    r"|too\s+(?:narrow|broad|many|few|old|much|long|wide|vague)|(?:it\s+|that\s+|they\s+)?should\s+be"
    r"|(?:the\s+|your\s+)?(?:years?|dates?|filters?|kinds?|database|query|plan|limit)\s+(?:is|are)\s+(?:all\s+)?(?:wrong|bad|off)"
    r"|(?:that|this|it)(?:'s|\s+is|\s+was)\s+(?:(?:really|so|just|not)\s+)*(?:shit|crap|bad|wrong|terrible|useless|rubbish|nonsense"
    r"|stupid|good|what\s+i\s+(?:asked|meant|wanted|said)(?:\s+for)?)|forget\s+(?:about\s+)?[^,;.:!?\n]+(?=[,;]))(?![\w'])",
    re.I,
)
"""Talk between changes, which says nothing about them."""
NOT_BUT = re.compile(
    r"\bnot\s+(?!only\b|just\b)([^,;.:!?\n]+?)\s*(?:,\s*(?:but\s+)?|\s+but\s+)(?:rather\s+|on\s+|about\s+)?"
    r"(?!(?:add|also|drop|remove|without|includ|exclud|focus|search|find|use|make|and|i|i'd|it|no|not|please|thanks|"
    r"replace|swap|keep|only|just|plus|leave|ignore|skip)\b)([^,;.:!?\n]+)",
    re.I,
)
"""One thing for another: "not medicine but law"."""
EXACT = re.compile(r"\bquery\s*[:=]\s*(.+)", re.I | re.S)
FILTER_RULES, WORD_RULES = _compiled(_FILTERS), _compiled(_WORDS)
_NUMBERS = {
    w: n for n, w in enumerate("zero one two three four five six seven eight nine ten".split())
}

_UNSUPPORTED = (
    "Google Scholar|Google Books|Scopus|Web of Science|JSTOR|DBLP|SSRN|bioRxiv|medRxiv|ScienceDirect|"
    "SpringerLink|PsycINFO|PsycArticles|EMBASE|Cochrane Library|CINAHL|CiNii|CNKI|ProQuest|EBSCOhost|"
    "ResearchGate|Wikipedia|Sci-Hub|Europe PMC|Papers with Code|Connected Papers|Mendeley|Zenodo|WorldCat"
)
"""Collections that people name and that no tool here asks."""
_UNSUPPORTED_WORDS = (
    "Google|WoS|Springer|Cochrane|ERIC|EBSCO|Dimensions|Lens|Elicit|CORE|BASE|HAL|Wiley"
)
"""More of them, whose names are also words: only in capitals, and after "in", "use" or the like."""
POINTING = (
    r"(?:(?:search|use|try|ask|query|look|check|(?:switch|change|move|go)(?:\s+it)?\s+to)\s+)?"
    r"(?:(?:in|on|at|with|from|via|using|of)\s+)?(?:the\s+)?"
)
TRAILING = r"(?:\s+(?:database|library|instead|too|as\s+well|only|please)\b)*"
FOREIGN = re.compile(
    rf"\b{POINTING}({_UNSUPPORTED})\b{TRAILING}"
    rf"|\b(?:search|use|try|ask|in|on|at|from|via|using)\s+(?:the"
    rf"\s+)?((?-i:{_UNSUPPORTED_WORDS}))\b{TRAILING}$",
    re.I,
)

_AROUND = frozenset(
    """a about actually again all also am an and another any anyway articles as at be better bit but by
    can change could do edit ehm er everything find first for from full get give go good have hm hmm how
    i i'd i'll i'm i've if in instead is it it's its just kind let let's lets like literature little
    look looking love make maybe me mind modify more my need no nope not now of oh ok okay on one ones
    only or ours paper papers perhaps plan please possible prefer publications query rather read really
    results same search searching see show so some still studies sure take thank thanks that that's the
    them then there these they thing things think this those time to too try uh um update us use want we
    published stuff everything back keep undo fewer mean meant
    we'd well what will wish with work would yeah yes you adjust can't don't dont""".split()
)
"""Words around a request, which say nothing about a subject."""


def _kinds_in(text: str) -> list[str]:
    return [kind for word in re.findall(_KIND, text, re.I) if (kind := kind_named(word))]


def _number(text: str) -> int:
    return max(1, int(text)) if text.isdigit() else _NUMBERS.get(text.casefold(), 1)


_NAMING = re.compile(r"^(?:the\s+)?(?:words?|terms?|phrases?|concepts?|topics?)\s+", re.I)


def _listed(text: str) -> list[str]:
    pieces = (
        _NAMING.sub("", plain(piece))
        for piece in re.split(r"\s*,\s*|\s+(?:and|or)\s+|\s*&\s*", text)
    )
    return [piece.strip("'\"") for piece in pieces if piece.strip("'\"")]


_WORD = re.compile(r"[^\s,;.:!?]+")


def plain(text: str) -> str:
    """Return a text without the words around a request at its ends; empty if it has no others."""
    words = list(_WORD.finditer(text))
    kept = [word for word in words if word.group().casefold().strip("\"'()-–—") not in _AROUND]
    telling = [word for word in kept if re.search(r"\w", word.group())]
    if not telling:
        return ""
    start, end = words.index(telling[0]), words.index(telling[-1])
    return tidy(text[words[start].start() : words[end].end()].replace(BORDER.strip(), ","))


def tidy(text: str) -> str:
    text = re.sub(r"\s+([,;.?!])", r"\1", re.sub(r"\s+", " ", text)).strip(" ,;:.-")
    return re.sub(
        r"^(?:but|and|please|only|with|just|instead|for)\b\s*", "", text, flags=re.I
    ).strip()
