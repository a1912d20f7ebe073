"""The arithmetic: numbers in, numbers out.

Owns every formula: exact gate, intervals, standard errors, pass^k, paired tests, tests of two samples,
agreement with labels.
Knows no cases, rows, files or settings, and imports nothing else of nightgate. Importing it loads
neither scipy nor numpy.
"""

from nightgate.stats._counts import CaseCounts
from nightgate.stats.agreement import Agreement, Confusion, Figure, agreement_of, krippendorff_alpha
from nightgate.stats.clustered import (
    VarianceParts,
    clustered_se,
    clustered_variance,
    independent_se,
    rerun_se,
    variance_parts,
)
from nightgate.stats.differences import PairedTest, paired_interval, paired_test
from nightgate.stats.exact import (
    Verdict,
    bounds_verdict,
    parse_threshold,
    passes_needed,
    percent_beside,
    rate_bounds,
)
from nightgate.stats.intervals import clopper_pearson, clustered_interval, jeffreys, wilson
from nightgate.stats.paired import PairedChange, case_differences, holm, mcnemar_p, paired_t, sign_flip_p
from nightgate.stats.passk import cases_short_of, pass_at_k, pass_hat_k, pass_hat_ks
from nightgate.stats.power import (
    Effort,
    effort_to_see,
    smallest_visible_change,
    visible_change,
)
from nightgate.stats.prevalence import (
    lang_reiczigel,
    prediction_powered,
    rogan_gladen,
    youden,
)
from nightgate.stats.representative import Likeness, Measured, Sorted, compare, overall
from nightgate.stats.sampled import Stratum, post_stratified
from nightgate.stats.two_samples import (
    Association,
    Difference,
    Ratio,
    association,
    cramer_von_mises,
    levene,
    ratio_interval,
    visible_association,
)

__all__ = [
    "Agreement",
    "Association",
    "CaseCounts",
    "Confusion",
    "Difference",
    "Effort",
    "Figure",
    "Likeness",
    "Measured",
    "PairedChange",
    "PairedTest",
    "Ratio",
    "Sorted",
    "Stratum",
    "VarianceParts",
    "Verdict",
    "agreement_of",
    "association",
    "bounds_verdict",
    "case_differences",
    "cases_short_of",
    "clopper_pearson",
    "clustered_interval",
    "clustered_se",
    "clustered_variance",
    "compare",
    "cramer_von_mises",
    "effort_to_see",
    "holm",
    "independent_se",
    "jeffreys",
    "krippendorff_alpha",
    "lang_reiczigel",
    "levene",
    "mcnemar_p",
    "overall",
    "paired_interval",
    "paired_t",
    "paired_test",
    "parse_threshold",
    "pass_at_k",
    "pass_hat_k",
    "pass_hat_ks",
    "passes_needed",
    "percent_beside",
    "post_stratified",
    "prediction_powered",
    "rate_bounds",
    "ratio_interval",
    "rerun_se",
    "rogan_gladen",
    "sign_flip_p",
    "smallest_visible_change",
    "variance_parts",
    "visible_association",
    "visible_change",
    "wilson",
    "youden",
]
