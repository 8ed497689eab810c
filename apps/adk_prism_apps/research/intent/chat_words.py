"""Chat spellings of the words around a request ("pls", "thx", "onyl"), written out before a message is read.

Only words of asking and talking are in the table, never words of a subject: what papers are about is not
corrected here but offered as a remedy, after counting. Words after `query:` are as somebody wrote them.
"""

from __future__ import annotations

import re

_SPELLINGS = {
    "about": "abt abuot abot aboout baout",
    "articles": "artciles articels aritcles",
    "before": "b4 befor",
    "between": "betwen",
    "can't": "cant",
    "cancel": "cancle cancell",
    "don't": "dont dnt",
    "exclude": "exlude exclud excldue",
    "find": "fnd",
    "give me": "gimme",
    "I'm": "im",
    "I've": "ive",
    "literature": "litrature literatur",
    "no": "nah naw nay noo nooo",
    "okay": "okk okayy okok",
    "only": "onyl olny",
    "papers": "papres paprs papaers",
    "please": "pls plz plss pleas plase pleaze",
    "preprints": "preprnts prepints",
    "really": "rly realy",
    "recent": "recnt",
    "remove": "remov remvoe",
    "reviews": "reveiws reviws",
    "search": "serch seach saerch",
    "since": "sicne sinc",
    "something": "smth sth somthing",
    "thanks": "thx tnx thnx thanx ty tysm",
    "that's": "thats",
    "though": "tho",
    "want": "wnat",
    "want to": "wanna wana",
    "what's": "whats",
    "with": "wiht",
    "without": "w/o witout",
    "years": "yrs yeras",
    "yes": "yea yess",
    "you": "u",
    "you're": "youre",
    "your": "ur",
}
_WRITTEN_OUT = {short: word for word, each in _SPELLINGS.items() for short in each.split()}
_WORD = re.compile(r"(?<![\w'’-])[a-zA-Z](?:[\w']|/o\b)*(?![\w'’-])")
_EXACT = re.compile(r"\bquery\s*[:=]", re.I)


def written_out(text: str) -> str:
    """Return a message with its chat spellings written out; words in capitals stay (`ID`, `U`)."""
    exact = _EXACT.search(text)
    end = exact.start() if exact else len(text)
    return _WORD.sub(_write, text[:end]) + text[end:]


def _write(found: re.Match[str]) -> str:
    word = found.group()
    if word == word.upper():
        return word
    return _WRITTEN_OUT.get(word.casefold(), word)
