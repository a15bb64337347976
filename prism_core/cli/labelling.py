"""`prism taxonomy`: propose labels from what is stored, edit the file, label the store by it."""

from __future__ import annotations

import shlex
from pathlib import Path

import typer

from prism_core.cli.options import Place
from prism_core.cli.output import counted, named, note, say
from prism_core.cli.store import open_store, warn_if_empty
from prism_core.encode.taxonomy import IntentTaxonomy


def show(place: Place, *, bundled: bool) -> None:
    """Print the labels of a store as a tree, or the bundled ones."""
    if bundled:
        taxonomy = IntentTaxonomy.default()
    else:
        with open_store(place) as memory:
            taxonomy = memory.taxonomy
    for label in taxonomy.labels:
        indent = "  " * label.name.count("/")
        chinese = f" ({label.chinese})" if label.chinese else ""
        say(f"{indent}{label.name.rpartition('/')[2]}{chinese}: {label.description}")


def suggest(place: Place, output: Path) -> None:
    """Write the store's taxonomy with proposed labels to a file that is not there yet: an edited one is kept."""
    if output.exists():
        raise typer.BadParameter(f"{str(output)!r} is there already; name another file", param_hint="--output")
    with open_store(place) as memory:
        warn_if_empty(memory, place)
        present = {label.name for label in memory.taxonomy.labels}
        suggested = memory.suggest_taxonomy(scope=place.scope)
    suggested.dump(output)
    fresh = [label for label in suggested.labels if label.name not in present]
    for label in fresh:
        say(f"{label.name}: {label.description}")
        for example in label.examples:
            say(f"    {example}")
    command = f"prism taxonomy apply {shlex.quote(str(output))}"
    say(f"\n{counted(len(fresh), 'proposed label')}, {output}; edit it, then: {command}")


def apply(place: Place, file: Path, *, dry_run: bool) -> None:
    """Label a scope's units by a file's taxonomy and say what changed."""
    taxonomy = IntentTaxonomy.load(file)
    with open_store(place) as memory:
        warn_if_empty(memory, place)
        changed = memory.apply_taxonomy(taxonomy, scope=place.scope, dry_run=dry_run)
    for each in changed:
        say(f"{each.unit_id}  {', '.join(each.before) or '-'} -> {', '.join(each.after) or '-'}")
    would = "would change" if dry_run else "changed"
    say(f"labels of {counted(len(changed), 'unit')} {would} in {named(place.scope)}")
    if dry_run and changed:
        note("nothing was written; leave out --dry-run to do it")
