"""Questions as people would put them, with the specialists that each one is for.

They were written before the vocabulary, by subject and not by word. B, T, C and N are the four
specialists; "" is a question about the incident itself; None has nothing to do with recovery.
"""

from __future__ import annotations

BURN, TRAIL, CRUISE, NEPA = "burn_analyst", "trail_assessor", "cruising_assistant", "nepa_advisor"
_LETTERS = {"B": BURN, "T": TRAIL, "C": CRUISE, "N": NEPA}

_QUESTIONS: tuple[tuple[str | None, str], ...] = (
    # The whole picture
    ("BTCN", "Give me a recovery briefing for Cedar Creek Fire"),
    ("BTCN", "I have eight minutes before the call. Bring me up to speed on Cedar Creek."),
    ("BTCN", "Where do we stand with Cedar Creek?"),
    ("BTCN", "Summarise the situation for the forest supervisor, please."),
    ("BTCN", "What do I need to know about the Cedar Creek Fire this morning?"),
    ("BTCN", "Full rundown, all four specialists, Cedar Creek"),
    ("BTCN", "Prepare a complete recovery overview, NEPA included."),
    ("BTCN", "Tell me about the Cedar Creek fire."),
    ("BTCN", "What should our next steps be?"),
    ("BTCN", "sitrep cedar creek"),
    # Burn severity
    ("B", "How badly did the north side burn?"),
    ("B", "Which sectors were hit hardest?"),
    ("B", "How many acres burned at high severity at Cedar Creek?"),
    ("B", "Is there a risk of debris flows below the ridges?"),
    ("B", "What does the dNBR say about S06?"),
    ("B", "Does the perimeter polygon look right?"),
    ("B", "When is the BAER request due?"),
    ("B", "Where should we worry about erosion this winter?"),
    ("B", "How much of the area is only lightly scorched?"),
    ("B", "Show me the soil damage across the burn scar"),
    ("B", "Is the mapped footprint consistent with the reported size?"),
    # Trails
    ("T", "Which trails have to stay shut?"),
    ("T", "Can hikers use the Lakeshore Loop?"),
    ("T", "What shape are the footbridges in?"),
    ("T", "Where are dangerous snags hanging over the path?"),
    ("T", "Which trail do we fix first?"),
    ("T", "Is T04 safe to reopen?"),
    ("T", "Did any culverts wash out?"),
    ("T", "How bad is the damage to the trail network?"),
    ("T", "Are backpackers going to be able to get through to the wilderness?"),
    ("T", "Rank the trail repairs for the spring crew."),
    ("T", "Give me a briefing on the trails only."),
    # Timber
    ("C", "How much timber is still worth taking out?"),
    ("C", "What is the basal area and the number of trees per acre?"),
    ("C", "How fast is the wood rotting?"),
    ("C", "Is our cruise precise enough?"),
    ("C", "How many board feet are in unit U2?"),
    ("C", "Will the mills still want these logs in two years?"),
    ("C", "What is the sampling error on the volume estimate?"),
    ("C", "How long do we have until the Douglas-fir loses its value?"),
    ("C", "Do we need more plots?"),
    ("C", "What could we get for the dead ponderosa pine?"),
    ("C", "Estimate the merchantable volume, as an interval."),
    # NEPA
    ("N", "Can we use a categorical exclusion for 180 acres of salvage?"),
    ("N", "What environmental review does this need?"),
    ("N", "Is 36 CFR 220.6(e)(13) still good law?"),
    ("N", "Do we need an EIS or will an EA do?"),
    ("N", "Which regulation covers rebuilding the trail bridge?"),
    ("N", "Are we allowed to log 400 acres of dead trees without an environmental assessment?"),
    ("N", "What paperwork do we have to do before replanting?"),
    ("N", "Has the deadline for post-fire rehabilitation under the CE passed as of November 2026?"),
    ("N", "What is the legal pathway for removing burned trees?"),
    ("N", "Does a court ruling stop us from using the stand improvement category?"),
    # Two or three at once
    ("TN", "Which trails are closed, and what NEPA review would rebuilding them take?"),
    ("CN", "How much salvage volume is there and which categorical exclusion fits?"),
    ("BT", "How severe was the burn around the damaged bridges?"),
    ("BC", "How severely did the units burn, and what timber volume is left in them?"),
    ("BTC", "Severity, trail closures and timber volume, please; skip the legal side."),
    # The incident itself
    ("", "When did the Cedar Creek Fire start?"),
    ("", "How big did it get and was it ever fully contained?"),
    ("", "What caused the fire?"),
    # Something else
    (None, "What is the capital of France?"),
    (None, "Write me a poem about the sea"),
    (None, "hello"),
    (None, "What can you do?"),
    (None, ""),
)

QUESTIONS: tuple[tuple[str, tuple[str, ...] | None], ...] = tuple(
    (text, None if letters is None else tuple(_LETTERS[letter] for letter in letters))
    for letters, text in _QUESTIONS
)
