"""The command line: `prism demo`, `ingest`, `ask`, `why`, `stats`, `doctor`, `rebuild`, `eval`.

`app.py` names the commands and their options; what they do stands in the other files, which are imported by the
command that needs them, so that `prism --help` answers at once.
"""

from prism_core.cli.app import app

__all__ = ["app"]
