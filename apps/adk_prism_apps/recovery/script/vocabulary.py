"""The words by which a question is routed: strong ones decide; weak ones only where no strong one is.

Grouped by subject, with stems and the synonyms that people use who do not know the terms of art.
`objects` are things that are done or worked on. They are as strong as any, except beside a NEPA
word: there they say what is reviewed, not whom else to ask.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..agent_names import (
    BURN_ANALYST,
    CRUISING_ASSISTANT,
    NEPA_ADVISOR,
    TRAIL_ASSESSOR,
)
from .words import terms


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The words of one specialist."""

    strong: tuple[str, ...]
    weak: tuple[str, ...]
    objects: tuple[str, ...] = ()


VOCABULARIES = {
    BURN_ANALYST: Vocabulary(
        strong=terms("""
            sever*, dnbr, nbr, rdnbr, mtbs, barc, baer, sbs, ravg, soil*, eros*, erod*, watershed*,
            catchment*, hydro*, runoff, sediment*, silt*, debris, mudslide*, mudflow*, mud, landslide*,
            slide*, flood*, flash flood*, satellite*, imagery, landsat, sentinel, remote sensing,
            scorch*, char, charred, charring, torched, incinerat*, blackened, perimeter*, boundar*,
            polygon*, outline*, footprint*, burn scar*, burned area*, burnt area*, unburn*, intensit*,
            hardest hit, hit hardest, hit the hardest, worst hit, burn map*, stabili*, sector*,
            ground cover, drainage*, steep*, gully*, gullies, geojson, shapefile*, mapped, mapping,
            water repel*, emergency response, emergency treatment*, mulch*, patch*, mosaic,
            burned hottest, burn hottest, cook*, moderate, moonscape*, fraction*"""),
        weak=terms("""
            burn, burned, burnt, burns, burning, bad, badly, worst, hot, hottest, intense*, slope*,
            vegetation, canopy, ash, lightly, moderately, hard, acre*, area*, map*, north*, south*,
            east*, west*, side, ridge*, class*, stream*, rain*, storm*, winter, percent*, mortality,
            landscape, ground, hillside*, basin*, flame*, touched, untouched, survive*, green, greenest"""),
    ),
    TRAIL_ASSESSOR: Vocabulary(
        strong=terms("""
            hik*, backpack*, puncheon*, culvert*, tread, trailhead*, path, paths, footpath*,
            snag*, clos*, reopen*,
            shut, shuts, shutting, visitor*, recreat*, campground*, campsite*, camper*, horse*,
            equestrian*, stock user*, bicycl*, biker*, bikers, mountain bik*, crossing*, boardwalk*,
            walker*, runner*, pct, pedestrian*, wash* out, washout*, loop*, d1, d2, d3, d4, tourist*,
            barricade*, detour*, off limits, open to the public, trekk*"""),
        weak=terms("""
            open*, safe*, danger*, damage*, repair*, fix*, rebuild*, public, access*, infrastructure,
            route*, crew*, walk*, spring, facilit*, structure*, priorit*, first, rank*, condition*,
            wilderness, passable, segment*, volunteer*, clear*, people, family,
            families, get through, weekend*, school"""),
        objects=terms("""
            trail*, bridge*, footbridge*, hazard tree*, hazardous tree*, danger tree*,
            dangerous tree*, falling tree*"""),
    ),
    CRUISING_ASSISTANT: Vocabulary(
        strong=terms("""
            cruis*, volume*, board f*, boardf*, bf, mbf, mmbf, scribner, basal, tpa, dbh, baf,
            merchant*, deterior*, decay*, rot, rots, rotting, rotten, stain*, bluestain*, sawlog*,
            sawtimber, mill, mills, sawmill*, stumpage, lumber, plot*, sampling, coefficient of variation,
            cv, standard error, douglas*, doug, hemlock*, ponderosa*, pine*, fir, firs, spruce*,
            species, tree* per acre, trees an acre, tree* to the acre, wood, price*, market*, sell*,
            dollar*, revenue*, worth*, value*, buyer*, allowed error, stocking, tally,
            tallies, inventory, beetle*, saleable, salable,
            timber sale*, diameter*, stem*, spoil*, perish*, loader*, truckload*, profit*, bid*"""),
        weak=terms("""
            tree*, dead, money, pay*, sale*, loss*, lose*, unit*, remain*, left, precis*, accura*, stand,
            stands, estimate*, fast, long, season, usable, economic*, bark, sample*, cut, cutting,
            statist*, margin of error, trunk*, lost, shelf life"""),
        objects=terms(
            "salvag*, timber*, harvest*, log, logs, logged, logging, logger*, stand improvement"
        ),
    ),
    NEPA_ADVISOR: Vocabulary(
        strong=terms("""
            nepa, categorical*, exclusion*, ce, ces, cx, catex, cfr, eis, ea, eas, environmental*,
            regulat*, legal*, law, laws, lawful*, statut*, permit*, complian*, comply*, fanec, sopa,
            decision memo*, extraordinary*, consultation*, esa, section 7, endangered, nhpa, ceq,
            objection*, paperwork, court*, lawsuit*, litigat*, sue, sued, ruling*, judge*,
            federal register, scoping, public comment*, comment period*, code of federal, allowed to,
            authori*, red tape, clearance*, sign off, citation*, cite*, citing, rule, rules, categor*,
            impact statement*, fonsi, pathway*, supersed*, rescind*, repeal*, 1b, in force, attorney*,
            lawyer*, challenge*, policy, policies, compliant, bureaucra*, signature*,
            acre limit*, acreage limit*, acreage cap*"""),
        weak=terms("""
            review*, approv*, document*, deadline*, require*, analys*, official*, may,
            comment*, process*, exempt*, limit*, window, propos*, project*, decision*, analyz*,
            federal, threshold*, proceed*, go ahead, green light, expire*"""),
    ),
}

WHOLE = terms("""
    brief*, overview*, summar*, rundown*, run down, sitrep*, status, situation*, picture, everything,
    up to speed, catch me up, fill me in, do we stand, we stand, where are we, things stand,
    things look*, next step*, need to know, should know, tell me about, state of play, state of the,
    readout, roundup, round up, action plan*, recovery plan*, plan, plans, should we do, do we do,
    what now, all four, all specialists, whole team, everyone, report, update, overall, assessment*,
    assess, recovery, recover, recovering, key points, highlights, takeaways, what happened,
    walk me through, walking into, digest, snapshot, headline*, how is it going, how are we doing,
    most important, where to begin, where to start, where should we start, priorities""")
"""Words of a question about everything."""

FULL = terms("""
    full, complete, comprehensive, entire, whole, end to end, across the board""")
"""Words that, with one of `ADDING`, make a named subject one among all."""

ADDING = terms("includ*, incl, plus, along with, together with, as well as, also, with")

ALL = terms(
    "all four, all specialists, all of them, everything, everyone, whole team, every specialist"
)
"""Words that mean all four whatever else is named."""

INCIDENT = terms("""
    when did, when was, how big, how large, how many acres, total acre*, acres in total, where was,
    where is the fire, which forest*, national forest*, which county, which state, what caused,
    cause of, out yet""")
"""Words that ask about the incident itself."""

ABOUT_INCIDENT = terms("""
    started, it start, fire start*, start date, began, begin, ignit*, caus*, contain*, lightning,
    size, grow, grew, growth, origin*, located, location*, county, spread*, evacuat*""")
"""Words that do so only where a question is about nothing else."""

UNLESS = {"clos*": terms("perimeter*, polygon*, boundar*, outline*, ring*")}
"""A strong word that means something else beside these."""

SMALL_TALK = terms("""
    hello, hi, hey, thanks, thank you, help, good morning, good evening, what can you do, who are you,
    what do you do, how do you work, what can i ask""")
