"""Studies: the experiments of a document, run as cases × replications and compared with the published values.

Read in this order: `plan` (cases and rows), `execute` (parallel and resumable runs), `batch` (one call to the engine),
`store` (finished runs), `measures` (a number from a run), `rows` (published and measured), `claims` (of the document).
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
