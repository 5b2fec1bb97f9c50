"""Studies: the experiments of one document, run as cases × replications and set beside the published values.

Read in this order: `plan` (what is to be run), `execute` (running it, in threads, resumable), `store` (what is
finished), `measures` (a number from a run), `rows` (published beside measured), `claims` (what the document says).
"""

from lasthop.study.claims import Evidence, Verdict
from lasthop.study.execute import record_case, run_parts, run_study
from lasthop.study.plan import Case, Study, load_parts, load_study
from lasthop.study.precision import Precision
from lasthop.study.result import StudyResult, open_study

__all__ = [
    "Case",
    "Evidence",
    "Precision",
    "Study",
    "StudyResult",
    "Verdict",
    "load_parts",
    "load_study",
    "open_study",
    "record_case",
    "run_parts",
    "run_study",
]
