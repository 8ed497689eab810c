"""Which language a message is in, told from its function words or its script: enough to say so politely.

A subject may hold foreign words ("Schrödinger equation"), so that a message which may be English is.
"""

from __future__ import annotations

import re
import unicodedata

_FUNCTION_WORDS: dict[str, frozenset[str]] = {
    "German": frozenset(
        "der die das den dem des ein eine einer eines einem einen und oder aber nicht ist sind war wie "
        "was wer wo warum "
        "welche welcher welches gibt es zu zum zur für mit von vom über auf bei nach aus ich du wir ihr "
        "sie mir uns "
        "bitte suche finde zeige kann können seit nur auch kein keine im am als".split()
    ),
    "French": frozenset(
        "le la les un une des du de et ou mais est sont était que qui quoi où quel quelle quels quelles "
        "pour avec sans "
        "sur dans par au aux je tu nous vous ils elles moi ce cette ces comment pourquoi depuis il y "
        "a-t-il cherche "
        "trouve s'il plaît plait en ne pas".split()
    ),
    "Spanish": frozenset(
        "el la los las un una unos unas de del y o pero es son que quién qué dónde cómo por para con "
        "sin sobre en al yo "
        "tú nosotros ustedes me nos este esta estos busca encuentra muestra artículos desde hay cuál "
        "cuáles favor".split()
    ),
    "Portuguese": frozenset(
        "o os as um uma uns umas de do da dos das e ou mas é são que quem onde como por para com sem "
        "sobre em no na nos "
        "nas eu você nós me este esta procure encontre artigos desde há qual quais não".split()
    ),
    "Italian": frozenset(
        "il lo la gli le un uno una di del della dei delle e o ma è sono che chi dove come perché per "
        "con senza su nel "
        "nella io tu noi voi mi ci questo questa cerca trova articoli dal quale quali non".split()
    ),
    "Dutch": frozenset(
        "de het een en of maar is zijn was hoe wat wie waar waarom welke er te voor met van over op bij "
        "naar uit ik jij "
        "wij jullie mij ons zoek vind artikelen sinds alleen ook geen niet".split()
    ),
}
_ENGLISH = frozenset(
    "the a an and or but is are was what who where why which how there to for with of about on in at by "
    "from not i you we "
    "me us please search find show can papers since only also no it that this do does".split()
)
_SCRIPTS = {
    "CYRILLIC": "Russian or another language in Cyrillic script",
    "CJK": "Chinese or Japanese",
    "HIRAGANA": "Japanese",
    "KATAKANA": "Japanese",
    "HANGUL": "Korean",
    "ARABIC": "Arabic",
    "HEBREW": "Hebrew",
    "DEVANAGARI": "Hindi",
    "GREEK": "Greek",
    "THAI": "Thai",
}
_FOREIGN_SHARE = 0.4
"""Of the letters; a Greek letter in a formula is not Greek."""
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")


def foreign_language(text: str) -> str:
    """Return the language of a message that is not in English; empty if it may be."""
    letters = [sign for sign in text if sign.isalpha()]
    for script, language in _SCRIPTS.items():
        foreign = [sign for sign in letters if unicodedata.name(sign, "").startswith(script)]
        if letters and len(foreign) >= _FOREIGN_SHARE * len(letters):
            return language
    if "¿" in text or "¡" in text:
        return "Spanish"
    words = [word.casefold().replace("’", "'") for word in _WORD.findall(text)]
    english = len(_ENGLISH.intersection(words))
    counts = {name: len(own.intersection(words)) for name, own in _FUNCTION_WORDS.items()}
    best = max(counts, key=lambda name: counts[name])
    accented = any(not word.isascii() for word in words)
    needed = 1 if accented and not english and len(words) > 3 else 2
    return best if counts[best] >= needed and counts[best] > english else ""
