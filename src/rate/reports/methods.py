"""How each number of a report was computed, in words.

The Markdown report and the page print the same text.
"""

from __future__ import annotations

from rate.reports.curves import MAX_POINTS

METHODS = (
    (
        "Episodes that count",
        "Of each run and case, the evaluation that was written last. "
        "An episode that was repeated with the same seed counts once.",
    ),
    (
        "Success rate",
        "Successful episodes divided by episodes. The brackets are the Wilson 95 % score interval over the episodes of "
        "all runs of a model together; it does not hold the spread between training seeds.",
    ),
    (
        "Return",
        "Undiscounted sum of rewards, mean over episodes ± one standard error "
        "(standard deviation with n − 1, divided by √n).",
    ),
    (
        "(n runs: mean ± SEM)",
        "Mean and standard error of the values of the single runs: the spread between training seeds. "
        "Shown for two runs and more.",
    ),
    (
        "Cost of acting",
        "Milliseconds per environment step as the evaluation measured them with the stated batch and threads, weighted "
        "by environment steps. Total time is the wall-clock time of these evaluations.",
    ),
    (
        "Learning curves",
        f"As logged, one line per run; beyond {MAX_POINTS} points, means of consecutive values. The score during "
        "training is the mean over the cases, at steps at which every case was evaluated.",
    ),
)
