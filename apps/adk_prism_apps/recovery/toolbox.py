"""The skills as ADK tools. The docstrings are what a model reads, and so arguments stay plain.

Every tool answers with `result` (text), `data` (the numbers in it) and `proof_layer`; or, when the
data cannot be used, with `error` (which file and field) and no proof.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from google.adk.tools.tool_context import ToolContext

from . import run_findings
from .agent_names import BURN_ANALYST, CRUISING_ASSISTANT, NEPA_ADVISOR, TRAIL_ASSESSOR
from .finding import Finding
from .library import DataProblem, Library
from .skills.baer import baer_clock
from .skills.boundary import check_boundary
from .skills.briefing import compose_briefing
from .skills.case import Case, open_case
from .skills.citation import check_citation
from .skills.closure import evaluate_closures, rank_trails
from .skills.cruise import cruise_statistics
from .skills.damage import classify_damage
from .skills.incident import find_fire
from .skills.pathway import screen_nepa
from .skills.salvage import assess_salvage
from .skills.sector import examine_sector
from .skills.severity import assess_severity

Answer = dict[str, Any]


class Toolbox:
    """Tools on one library, of one specialist."""

    specialist: str

    def __init__(self, library: Library) -> None:
        self._library = library

    def _answer(
        self,
        context: ToolContext,
        fire: tuple[str, str],
        name: str,
        skill: Callable[[Case], Finding],
    ) -> Answer:
        """Open the case of (fire_id, as_of) and answer with what the skill finds in it."""
        key = f"{self.specialist}.{name}"
        return run_findings.answer(context, key, lambda: skill(open_case(self._library, *fire)))


class CoordinatorTools(Toolbox):
    """Which fire is meant, and the briefing at the end."""

    def find_fire(self, question: str, tool_context: ToolContext, as_of: str = "") -> Answer:
        """Finds the fire that a question is about, with its sourced facts. Call this first.

        Args:
          question: The person's whole question, or the name of a fire.
          as_of: The day that answers shall speak of, as YYYY-MM-DD, or "today". Leave it empty
            unless the person names a day; then the fire's scenario date is used.
        """
        try:
            last = str(tool_context.state.get(run_findings.LAST_FIRE) or "")
            finding = find_fire(self._library, question, as_of, last)
        except DataProblem as problem:
            return {"error": problem.message, "data": {"found": False, "problem": problem.data()}}
        if finding.data["found"]:
            run_findings.note_fire(tool_context, finding)
        return finding.response()

    def compose_briefing(self, tool_context: ToolContext, asked: list[str] | None = None) -> Answer:
        """Puts together what the specialists found: text, overall confidence and follow-ups.

        Call it when the specialists have answered. If `data.follow_ups` is not empty, ask each
        specialist named there with exactly the given request, all in one turn, then call it again.

        Args:
          asked: The names of the specialists that were asked, so that one who found nothing is
            named in the briefing.
        """
        incident = run_findings.incident_brief(tool_context)
        return compose_briefing(incident, run_findings.briefs(tool_context), asked or ())


class BurnTools(Toolbox):
    """Severity, one sector, the boundary, the BAER clock."""

    specialist = BURN_ANALYST

    def assess_severity(self, fire_id: str, tool_context: ToolContext, as_of: str = "") -> Answer:
        """Classifies the burn severity of every sector and adds up acres by class.

        Args:
          fire_id: The fire's id, as find_fire gives it.
          as_of: The day to speak of, YYYY-MM-DD; empty for the scenario date.
        """
        return self._answer(tool_context, (fire_id, as_of), "assess_severity", assess_severity)

    def examine_sector(
        self, fire_id: str, sector: str, tool_context: ToolContext, as_of: str = ""
    ) -> Answer:
        """Looks closer at one sector: how its ground divides between severity classes.

        Args:
          fire_id: The fire's id, as find_fire gives it.
          sector: The sector's id, such as S06.
          as_of: The day to speak of, YYYY-MM-DD; empty for the scenario date.
        """
        name = f"examine_sector.{sector.strip().upper()}"
        return self._answer(
            tool_context, (fire_id, as_of), name, lambda case: examine_sector(case, sector)
        )

    def check_boundary(self, fire_id: str, tool_context: ToolContext, as_of: str = "") -> Answer:
        """Checks the fire's perimeter: closed, not crossing itself, as large as reported.

        Args:
          fire_id: The fire's id, as find_fire gives it.
          as_of: The day to speak of, YYYY-MM-DD; empty for the scenario date.
        """
        return self._answer(tool_context, (fire_id, as_of), "check_boundary", check_boundary)

    def baer_clock(self, fire_id: str, tool_context: ToolContext, as_of: str = "") -> Answer:
        """Computes the dates of Burned Area Emergency Response from the day of containment.

        Args:
          fire_id: The fire's id, as find_fire gives it.
          as_of: The day to speak of, YYYY-MM-DD; empty for the scenario date.
        """
        return self._answer(tool_context, (fire_id, as_of), "baer_clock", baer_clock)


class TrailTools(Toolbox):
    """Damage, closures, order of repair."""

    specialist = TRAIL_ASSESSOR

    def classify_damage(
        self, fire_id: str, tool_context: ToolContext, trail: str = "", as_of: str = ""
    ) -> Answer:
        """Classifies trail damage by segment on the project's own scale, D1 to D4.

        Args:
          fire_id: The fire's id, as find_fire gives it.
          trail: A trail's id or name; empty for all trails.
          as_of: The day to speak of, YYYY-MM-DD; empty for the scenario date.
        """
        return self._answer(
            tool_context,
            (fire_id, as_of),
            "classify_damage",
            lambda case: classify_damage(case, trail),
        )

    def evaluate_closures(
        self, fire_id: str, tool_context: ToolContext, trail: str = "", as_of: str = ""
    ) -> Answer:
        """Says which trails to close, which to warn about, and why.

        Args:
          fire_id: The fire's id, as find_fire gives it.
          trail: A trail's id or name; empty for all trails.
          as_of: The day to speak of, YYYY-MM-DD; empty for the scenario date.
        """
        return self._answer(
            tool_context,
            (fire_id, as_of),
            "evaluate_closures",
            lambda case: evaluate_closures(case, trail),
        )

    def rank_trails(self, fire_id: str, tool_context: ToolContext, as_of: str = "") -> Answer:
        """Puts the trails in the order in which to repair them.

        Args:
          fire_id: The fire's id, as find_fire gives it.
          as_of: The day to speak of, YYYY-MM-DD; empty for the scenario date.
        """
        return self._answer(tool_context, (fire_id, as_of), "rank_trails", rank_trails)


class CruisingTools(Toolbox):
    """Cruise statistics and what is left to salvage."""

    specialist = CRUISING_ASSISTANT

    def cruise_statistics(
        self, fire_id: str, tool_context: ToolContext, unit: str = "", as_of: str = ""
    ) -> Answer:
        """Computes basal area, trees per acre, volume and sampling error of the cruised units.

        Args:
          fire_id: The fire's id, as find_fire gives it.
          unit: A unit's id, such as U1; empty for all units.
          as_of: The day to speak of, YYYY-MM-DD; empty for the scenario date.
        """
        return self._answer(
            tool_context,
            (fire_id, as_of),
            "cruise_statistics",
            lambda case: cruise_statistics(case, unit),
        )

    def assess_salvage(
        self, fire_id: str, tool_context: ToolContext, unit: str = "", as_of: str = ""
    ) -> Answer:
        """Computes how much dead timber is left and what it is worth, as intervals by species.

        Args:
          fire_id: The fire's id, as find_fire gives it.
          unit: A unit's id, such as U1; empty for all units.
          as_of: The day to speak of, YYYY-MM-DD; empty for the scenario date.
        """
        return self._answer(
            tool_context,
            (fire_id, as_of),
            "assess_salvage",
            lambda case: assess_salvage(case, unit),
        )


class NepaTools(Toolbox):
    """Screening by rules with dates, and whether a citation still stands."""

    specialist = NEPA_ADVISOR

    def screen_nepa(
        self,
        fire_id: str,
        tool_context: ToolContext,
        proposal: str = "",
        activity: str = "",
        acres: float | None = None,
        temp_road_miles: float | None = None,
        as_of: str = "",
    ) -> Answer:
        """Screens proposals against the categorical exclusions in force on a day.

        Args:
          fire_id: The fire's id, as find_fire gives it.
          proposal: A proposal's id, such as P1; empty for all proposals of the fire.
          activity: What is to be done: salvage, rehabilitation, trail, live harvest, stand
            improvement, restoration, recreation site or road. With acres or miles it is screened
            as asked, without them the fire's own proposals of that kind are.
          acres: The acres of the activity, or those that complete the named proposal.
          temp_road_miles: Its miles of temporary road.
          as_of: The day whose law counts, YYYY-MM-DD; empty for the scenario date.
        """
        inputs = {
            "proposal_id": proposal,
            "activity": activity,
            "acres": acres,
            "temp_road_miles": temp_road_miles,
        }
        return self._answer(
            tool_context, (fire_id, as_of), "screen_nepa", lambda case: screen_nepa(case, inputs)
        )

    def check_citation(
        self, fire_id: str, citation: str, tool_context: ToolContext, as_of: str = ""
    ) -> Answer:
        """Says whether a citation of the Code of Federal Regulations stands on a day.

        Args:
          fire_id: The fire's id, as find_fire gives it.
          citation: One or more citations, such as 36 CFR 220.6(e)(13).
          as_of: The day whose law counts, YYYY-MM-DD; empty for the scenario date.
        """
        return self._answer(
            tool_context,
            (fire_id, as_of),
            "check_citation",
            lambda case: check_citation(case, citation),
        )
