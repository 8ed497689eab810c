"""The names of the agents, in the order of a briefing."""

COORDINATOR = "coordinator"
BURN_ANALYST = "burn_analyst"
TRAIL_ASSESSOR = "trail_assessor"
CRUISING_ASSISTANT = "cruising_assistant"
NEPA_ADVISOR = "nepa_advisor"

SPECIALISTS = (BURN_ANALYST, TRAIL_ASSESSOR, CRUISING_ASSISTANT, NEPA_ADVISOR)

SUBJECTS = {
    BURN_ANALYST: "Fire Severity",
    TRAIL_ASSESSOR: "Infrastructure Damage",
    CRUISING_ASSISTANT: "Timber Salvage",
    NEPA_ADVISOR: "NEPA Pathway",
}
"""What a briefing calls each specialist's part."""

SKILLS = (
    "assess_severity",
    "examine_sector",
    "check_boundary",
    "baer_clock",
    "classify_damage",
    "evaluate_closures",
    "rank_trails",
    "assess_salvage",
    "cruise_statistics",
    "screen_nepa",
    "check_citation",
)
"""The order in which a briefing repeats what a specialist found."""
