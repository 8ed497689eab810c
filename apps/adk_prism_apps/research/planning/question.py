"""The words of a question that a database can look for: its subject, without the asking around it.

No model and no list of topics: what is left of any question, in the order in which it stands there.
A phrase in quotation marks stays one, and so do AND, OR and NOT in capitals.
"""

from __future__ import annotations

import re

from ..databases.query import repaired

# More words in one AND find hardly anything in titles and abstracts.
MOST_WORDS = 6

_ASKING = re.compile(
    r"^\s*(?:(?:hi|hello|hey|please|can you|could you|would you|i want to|i would like to|i'd like to|"
    r"i need to|i need|i want|i'd like|i am|i'm|we are|we're|interested in|curious about|working on|i "
    r"wonder|wondering|let's|lets|"
    r"help me|(?:to )?(?:know|learn|find out|see) (?:whether|if|how|why|what|more about|about)|"
    r"new question|research question|my question is|my topic is|question)\b[\s,:.!]*)*"
    r"(?:(?:search|find|look(?:ing)?(?: up| for| into)?|research(?:ing)?|collect|get|show|list|give)\b"
    r"(?:\s+(?:me|us|for|up|some|all|the|out|about|on)\b)*\s*)?"
    r"(?:(?:recent|relevant|good|new|scientific|academic|published)\s+)*"
    r"(?:(?:papers?|articles?|literature|studies|work|publications?|research|evidence)\b"
    r"(?:\s+(?:on|about|for|regarding|concerning|of|in|that|which)\b)*\s*)?",
    re.I,
)
_ASKED_FOR = re.compile(
    r"(?=.*?\b(?:i|i'm|i'd|we|me|us|my|our|please|find|search|looking|need|want)\b).*?"
    r"\b(?:papers?|articles?|literature|studies|publications?|work|research|evidence|texts?|something|anything|stuff"
    r"|information|material)\s+(?:(?:that|which)\s+)?"
    r"(?:on|about|regarding|concerning|(?:speak|talk|deal|treat)(?:s|ing)?\s+(?:of|about|with|on))\s+(.+)",
    re.I | re.S,
)
"""A sentence that says who asks and why, and then what the papers are to be about."""
_COURTESY = re.compile(
    r"(?:[\s,;.!-]+(?:please|thanks|thank you|cheers|merci|gracias|danke|grazie|obrigad[oa]|arigato"
    r"|asap|if possible|again"
    r"|idiot|moron|dumbass|asshole|stupid|(?<=,\s)(?:mate|bro|dude|man|dear|sir|madam))"
    r"(?:\s+(?:you|so|very|much|a\s+lot|in\s+advance))*)+[\s.!?]*$",
    re.I,
)
"""What people say after a question that is no part of it."""
_STOP = frozenset(
    """a about across after all also am among an and any are as at be been before being between both but
    by can could current did do does doing done during each either else ever every exist existing exists
    few first for found from get gives given had has have having how i if in into is it its itself just
    kind kinds known last latest least less like made main major many may me might more most much must
    my near need needs new no nor not now of off often on one only onto or other others our out over own
    paper papers article articles literature per please rather recent regarding same say search see
    shall she should show since so some state such tell than that the their them then there these they
    thing things ones stuff something anything instead
    this those through to too toward towards under until up upon us use used uses using
    various very via was way ways we well were what when where whether which while who whom whose why
    will with within without would yet you your approach approaches method methods technique techniques
    study studies publication publications understand explain describe""".split()
)
# Words of talk about the talk: a message of nothing else says what somebody thinks, not what to look for.
_REMARKS = frozenset(
    """absolutely actually afraid again agree ah aha alright amazing anyway anything appreciate awesome
    bad believe best better bit boring bravo bye certainly cheers clear come confused confusing cool
    correct course curious damn dear definitely depends disagree done don't dont doubt else enough
    exactly excellent excited exciting fair fantastic feel fine forget fun funny glad go god goes going
    good goodbye got great guess ha haha happy hard hear hello help helpful helps hey hi hm hmm hmmm
    honestly hope huh idea impressed impressive indeed interested interesting i'd i'll i'm i've it's job
    keep kidding kind know let let's lets likely little lol look looking looks lot lots love lovely make
    makes many mate maybe mean means mhm mind mmm moment much neat never nevermind newer newest nice
    nope nothing noted oh ok okay opinion ouch pardon perfect perhaps please point possible possibly
    pretty probably promising puzzled quite read really reason right sad said saying seems sense
    seriously shame sorry sound sounds splendid stop strange super superb sure surprised surprising talk
    tell terrible thank thanks that's there's think thinking thought thoughts tired true try uh uhm um
    understood unclear understand useful wait want weird well what's whatever wonder wonderful wondering
    work works worried worry wow wrong yay yeah yep yes you're yup old older
    undo useless crap shit shitty fuck fucking bullshit stupid suck sucks rubbish asked whatever""".split()
)
_TALK = re.compile(
    r"\s*(?:(?:and|but|so|well|oh|ah|hm+|ok|okay|yes|no|wow|honestly|actually|anyway|great|good|nice"
    r"|cool)[\s,.!…-]+)*"
    r"(?:(?:i|we|you|he|she|they|it|that|this|these|those|there|my|our|your|his|her|their)\b"
    r"|(?:i|we|you|he|she|they|it|that|this|there|what|who)['’]\w+"
    r"|(?:the|all|some|most|many|none|each|both)\s+(?:of\s+)?(?:the\s+|these\s+|those\s+|your\s+)?"
    r"(?:results?|papers?|plans?|search(?:es)?|quer(?:y|ies)|lists?|answers?|receipts?|databases?"
    r"|filters?|titles?|"
    r"numbers?|counts?)\s+(?:is|are|was|were|look|looks|looked|seem|seems|sound|sounds|do|does|did|don't|can|"
    r"cannot|can't|could|should|will|have|has|make|makes)\b"
    r"|(?:are|were|did|do|can|could|will|would|have)\s+you\b|how\s+(?:are|old\s+are|do)\s+you\b|who"
    r"\s+(?:made|are|is)\s+you)",
    re.I,
)
"""How sentences begin that are about the people who talk, or about the search."""
_ABOUT_IT = re.compile(
    r"\s*(?:(?:and|but|so|hm+|ok|wait)[\s,]+)*(?:(?:is|are|was|were)\s+(?:this|that|these|those|they)\b"
    r"|(?:why|which|what|how|where|who)\s+(?:is\s+|are\s+)?(?:this|that|these|those)\b)",
    re.I,
)
"""How questions begin that point at what was said."""
_WANTED = re.compile(
    r"\b(?:papers?|articles?|literature|studies|evidence|publications?|research|work|reviews?"
    r"|surveys?)\s+(?:on|about|of|for|in|into|regarding|concerning)\b"
    r"|\b(?:search(?:ing)?\s+for|look(?:ing)?\s+(?:for|into|at)|find|interested\s+in|learn(?:ing)?"
    r"\s+about|know\s+(?:more\s+)?about|read(?:ing)?\s+about|working\s+on|"
    r"study(?:ing)?|research(?:ing)?|investigat(?:e|ing)|writ(?:e|ing)\s+(?:a|my|our)\s+\w+\s+(?:on"
    r"|about)|question\s+is|topic\s+is|"
    r"whether|effects?\s+of|impact\s+of|role\s+of|curious\s+about|wonder(?:ing)?\s+(?:about|if|how|what"
    r"|why))\b",
    re.I,
)
"""What makes such a sentence a question all the same."""
_TOKEN = re.compile(r'"[^"]{1,200}"|[^\W_]+(?:[-\'’][^\W_]+)*')
_OPERATORS = frozenset({"AND", "OR", "NOT"})


def query_of(question: str) -> str:
    """Return the query for a question; empty if the question has no word to search for."""
    subject, words = _subject_words(question)
    return repaired(subject if words is None else " ".join(words[:MOST_WORDS]))


def left_out(question: str) -> list[str]:
    """Return the words of a question that its query has no room for."""
    words = _subject_words(question)[1]
    return words[MOST_WORDS:] if words else []


def _subject_words(question: str) -> tuple[str, list[str] | None]:
    """Return the subject of a question, and its words; None if it is a query with operators."""
    said = _COURTESY.sub("", question) or question
    asked = _ASKED_FOR.match(said)
    subject = _ASKING.sub("", asked.group(1) if asked else said, count=1) or said
    tokens = _TOKEN.findall(subject)
    if any(token in _OPERATORS for token in tokens) and not _shouts(tokens):
        return subject, None
    words = [token for token in tokens if token.casefold() not in _STOP and not token.isdecimal()]
    return subject, list(dict.fromkeys(words))


def asks_about_search(text: str) -> bool:
    """Return whether a text asks something about the plan or its papers: "is this peer reviewed?"."""
    return "?" in text and _ABOUT_IT.match(text) is not None


def is_subject(text: str) -> bool:
    """Return whether a text says what it is about: two telling words, or one in quotation marks."""
    words = _telling(text)
    return len(words) >= 2 or any(word.startswith('"') for word in words)


def is_remark(text: str) -> bool:
    """Return whether a text says nothing that a database could look for, such as "hm, interesting".

    Nor does a sentence about the people who talk or about the search itself ("my supervisor will love
    this", "these results look old"), unless it says what it is looking for ("I need papers on sleep").
    """
    if not _telling(text) or asks_about_search(text):
        return True
    return _TALK.match(text) is not None and not _WANTED.search(text)


def _telling(text: str) -> list[str]:
    """Return the words of a text that are about a subject."""
    words = query_of(text).split()
    return [word for word in words if word.casefold().replace("’", "'") not in _REMARKS]


def _shouts(tokens: list[str]) -> bool:
    """Return whether all is in capitals, so that AND is a word like any other."""
    return all(token == token.upper() for token in tokens)
