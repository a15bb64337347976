"""Measuring a memory on questions with known evidence and on runs of agents."""

from prism_core.evaluation.abstention import run_abstention
from prism_core.evaluation.failures import run_failures
from prism_core.evaluation.links import run_links
from prism_core.evaluation.qa import run_qa
from prism_core.evaluation.report import Report
from prism_core.evaluation.robustness import run_robustness
from prism_core.evaluation.traces import run_traces
from prism_core.evaluation.weights import run_weights

__all__ = [
    "Report",
    "run_abstention",
    "run_failures",
    "run_links",
    "run_qa",
    "run_robustness",
    "run_traces",
    "run_weights",
]
