"""One self-contained page of one or several runs: `lasthop report`.

`payload` collects what the page shows of a run, `page` writes the HTML. The
page's program is TypeScript, in `web/`; the wheel has its built form, `viewer.js` and `viewer.css`, next to this file.
`study_page` and `study_pictures` make the page and the pictures of studies.
"""

from lasthop.report.page import write_report

__all__ = ["write_report"]
