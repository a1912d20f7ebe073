"""From stored rows to figures: counts, coverage, families, skill evidence, money.

``tallies`` counts cells, ``coverage`` says why cells were not judged, ``skills`` what of skills was
seen, ``ledger`` adds up calls, ``waits`` how long they waited, ``views`` makes parts of the summary
document of them. Knows no threshold decision, no store and no terminal.
"""

from nightgate.prices import NANO
from nightgate.summaries.conversations import Conversations
from nightgate.summaries.coverage import Hole, Holes
from nightgate.summaries.families import families, family_details
from nightgate.summaries.fingerprints import Heard, changed, mixed
from nightgate.summaries.ledger import Ledger, ModelCalls, cost_per
from nightgate.summaries.panels import merged, panels
from nightgate.summaries.skills import SkillEvidence
from nightgate.summaries.tallies import Tallies, Tally, tally
from nightgate.summaries.views import (
    SUMMARY_SCHEMA,
    Summary,
    case_counts,
    cell_counts,
    flaky,
    layers,
    trial_counts,
)
from nightgate.summaries.waits import BOUNDS_S, Waits

__all__ = [
    "BOUNDS_S",
    "NANO",
    "SUMMARY_SCHEMA",
    "Conversations",
    "Heard",
    "Hole",
    "Holes",
    "Ledger",
    "ModelCalls",
    "SkillEvidence",
    "Summary",
    "Tallies",
    "Tally",
    "Waits",
    "case_counts",
    "cell_counts",
    "changed",
    "cost_per",
    "families",
    "family_details",
    "flaky",
    "layers",
    "merged",
    "mixed",
    "panels",
    "tally",
    "trial_counts",
]
