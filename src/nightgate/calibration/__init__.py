"""Judges that can be trusted: their verdicts held against people's labels.

Owns which label meets which judgement, the figures of a judge, corrected pass rates, and the bar that a
judge has to meet before it may block. Knows no files, no rows and no store; imports ``stats``.
"""

from nightgate.calibration.bar import LEAST_KAPPA, LEAST_LABELS, LEAST_SHARE, Word, may_block
from nightgate.calibration.evidence import (
    Asked,
    Evidence,
    Judgement,
    Label,
    Labels,
    Pinned,
    Sample,
    Unmet,
)
from nightgate.calibration.figures import Calibration, calibrated

__all__ = [
    "LEAST_KAPPA",
    "LEAST_LABELS",
    "LEAST_SHARE",
    "Asked",
    "Calibration",
    "Evidence",
    "Judgement",
    "Label",
    "Labels",
    "Pinned",
    "Sample",
    "Unmet",
    "Word",
    "calibrated",
    "may_block",
]
