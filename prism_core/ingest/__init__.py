"""Files of agents' logs and of benchmarks, turned into events. Nothing is stored here."""

from prism_core.ingest.files import Record, read_records
from prism_core.ingest.formats import Format, detect, read, read_chat, read_qa, read_traces
from prism_core.ingest.messages import IngestItem, IngestRun, message_events
from prism_core.ingest.units import QAUnit, unit_event

__all__ = [
    "Format",
    "IngestItem",
    "IngestRun",
    "QAUnit",
    "Record",
    "detect",
    "message_events",
    "read",
    "read_chat",
    "read_qa",
    "read_records",
    "read_traces",
    "unit_event",
]
