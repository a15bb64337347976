"""Make the cookbook's notebooks from its scripts: `python scripts/build_notebooks.py [--check]`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import jupytext
import nbformat

COOKBOOK = Path(__file__).resolve().parent.parent / "cookbook"
HELPERS = ("offline.py", "offline_llamaindex.py", "offline_ollama.py")
"""Modules that recipes import, which are no recipes."""


def recipes() -> list[Path]:
    """The scripts, by name."""
    return sorted(path for path in COOKBOOK.glob("*.py") if path.name not in HELPERS)


def notebook(script: Path) -> str:
    """A script as the text of a notebook, without outputs; the same text whenever it is made."""
    made = jupytext.read(script, fmt="py:percent")
    made.metadata = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    for number, cell in enumerate(made.cells):
        cell["id"] = f"cell-{number}"
        cell["metadata"] = {}
    return str(nbformat.writes(made, version=4)) + "\n"


def main() -> int:
    """Write them, or say which are not what their scripts give."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit code 1 if one is out of date")
    check = parser.parse_args().check
    stale = []
    for script in recipes():
        target, text = script.with_suffix(".ipynb"), notebook(script)
        if target.exists() and target.read_text(encoding="utf-8") == text:
            continue
        stale.append(target.name)
        if not check:
            target.write_text(text, encoding="utf-8")
    if stale:
        print(*stale, "out of date" if check else "written")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
