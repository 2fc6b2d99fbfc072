"""Reports over run directories: tables, figures and one self-contained page.

Nothing here knows models or environments; the files of a run directory are the only input.
"""

from rate.reports.reading.runs import RunSummary, read_run, read_runs
from rate.reports.report import Report, write_report

__all__ = ["Report", "RunSummary", "read_run", "read_runs", "write_report"]
