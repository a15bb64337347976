"""The commands and their options. Each imports what it runs when it runs, so that help and errors come at once."""

# ruff: noqa: PLC0415

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from prism_core import __version__
from prism_core.cli.group import OneLineErrors
from prism_core.cli.options import (
    DEFAULT_STORE,
    AsJson,
    Embedder,
    EmbedderOption,
    Index,
    IndexOption,
    Jobs,
    JsonFile,
    NoEmbedder,
    Place,
    RawFile,
    ScopeSegments,
    Store,
    Systems,
    Tasks,
)

# Plain help: it is read in pipes and logs too, and comes without loading a renderer.
app = typer.Typer(cls=OneLineErrors, rich_markup_mode=None, pretty_exceptions_enable=False, add_completion=False)
evaluate = typer.Typer(
    rich_markup_mode=None,
    help="Measure a memory: evidence recall, agent runs, abstention, robustness, links, failures, weights.",
)
app.add_typer(evaluate, name="eval")
labels = typer.Typer(rich_markup_mode=None, help="The labels of intents: show, suggest from what is stored, apply.")
app.add_typer(labels, name="taxonomy")


@app.callback(invoke_without_command=True)
def prism(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """A memory for agents: write what happened, ask for what matters, see why."""
    if version:
        typer.echo(f"prism-memory {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command()
def demo(
    store: Annotated[Path, typer.Option(metavar="PATH", help="Directory of the demo's store.")] = Path(".prism/demo"),
    fresh: Annotated[bool, typer.Option("--fresh", help="Begin with an empty store.")] = False,
) -> None:
    """See a research agent's week remembered: offline, no key."""
    from prism_core.cli import measuring

    measuring.demo(store, fresh=fresh)


@app.command()
def ingest(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Chats, runs or evidence-QA rows.")],
    store: Store = DEFAULT_STORE,
    scope: ScopeSegments = None,
    index: IndexOption = Index.AUTO,
    embedder: EmbedderOption = Embedder.MINILM,
    no_embedder: NoEmbedder = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print the summary only.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print receipts as JSON lines.")] = False,
) -> None:
    """Write files into the store; one receipt per message."""
    from prism_core.cli import ingesting

    ingesting.ingest(files, Place.of(store, scope, index, None if no_embedder else embedder), quiet=quiet, json=json)


@app.command()
def ask(
    question: Annotated[str, typer.Argument(metavar="QUESTION", help="A question, or the action about to be taken.")],
    budget: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Tokens.", show_default="1000 without --k")
    ] = None,
    k: Annotated[
        int | None, typer.Option("--k", metavar="N", min=1, help="A table of exactly so many memories.")
    ] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Say why each was returned or left out.")] = False,
    json: AsJson = False,
    task: Annotated[str | None, typer.Option(metavar="ID", help="Only memories of this task.")] = None,
    session: Annotated[str | None, typer.Option(metavar="ID", help="Only memories of this session.")] = None,
    active: Annotated[
        list[str] | None, typer.Option(metavar="UNIT", help="Unit being worked on; repeatable, oldest first.")
    ] = None,
    store: Store = DEFAULT_STORE,
    scope: ScopeSegments = None,
    index: IndexOption = Index.AUTO,
    embedder: EmbedderOption = Embedder.MINILM,
    no_embedder: NoEmbedder = False,
) -> None:
    """Print what the memory hands to a model for a question."""
    from prism_core.cli import asking

    asked = asking.Question(question, k, budget, task, session, tuple(active or ()))
    asking.ask(asked, Place.of(store, scope, index, None if no_embedder else embedder), explain=explain, json=json)


@app.command()
def why(
    unit: Annotated[str, typer.Argument(metavar="UNIT", help="A unit's id, as in a receipt or in `prism ask --k`.")],
    impact: Annotated[bool, typer.Option("--impact", help="What it led to.")] = False,
    failure: Annotated[bool, typer.Option("--failure", help="What its failure rests on.")] = False,
    depth: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Links to follow.", show_default="4; 8 for failures")
    ] = None,
    json: AsJson = False,
    store: Store = DEFAULT_STORE,
    scope: ScopeSegments = None,
) -> None:
    """Print how a unit came about."""
    from prism_core.cli import asking

    if impact and failure:
        raise typer.BadParameter("choose one of them", param_hint="--impact / --failure")
    direction = asking.Direction.IMPACT if impact else asking.Direction.FAILURE if failure else asking.Direction.WHY
    asking.why(unit, Place.of(store, scope), direction, depth=depth, json=json)


@app.command()
def erase(
    units: Annotated[list[str] | None, typer.Argument(metavar="[UNIT]...", help="Ids of units.")] = None,
    task: Annotated[str | None, typer.Option(metavar="ID", help="Everything of this task.")] = None,
    session: Annotated[
        str | None, typer.Option(metavar="ID", help="Everything of this session; with --task, of the task within it.")
    ] = None,
    whole: Annotated[bool, typer.Option("--whole-scope", help="Everything of the scope.")] = False,
    store: Store = DEFAULT_STORE,
    scope: ScopeSegments = None,
    index: IndexOption = Index.AUTO,
) -> None:
    """Erase memories for good, with everything derived from them."""
    from prism_core.cli import upkeep

    upkeep.erase(Place.of(store, scope, index), units or [], task=task, session=session, whole=whole)


@app.command()
def stats(
    everything: Annotated[bool, typer.Option("--all", help="Every scope of the store, on a line each.")] = False,
    store: Store = DEFAULT_STORE,
    scope: ScopeSegments = None,
) -> None:
    """Print how much a scope holds."""
    from prism_core.cli import upkeep

    upkeep.stats(Place.of(store, scope), everything=everything)


@app.command()
def doctor(store: Store = DEFAULT_STORE, index: IndexOption = Index.AUTO) -> None:
    """Check the store; exit code 1 if something is wrong."""
    from prism_core.cli import upkeep

    upkeep.doctor(Place.of(store, None, index))


@app.command()
def rebuild(
    everything: Annotated[bool, typer.Option("--all", help="Every scope of the store.")] = False,
    reembed: Annotated[bool, typer.Option("--reembed", help="Compute every vector again too.")] = False,
    store: Store = DEFAULT_STORE,
    scope: ScopeSegments = None,
    index: IndexOption = Index.AUTO,
    embedder: EmbedderOption = Embedder.MINILM,
    no_embedder: NoEmbedder = False,
) -> None:
    """Derive graph and indexes from the ledger again."""
    from prism_core.cli import upkeep

    if reembed and no_embedder:
        raise typer.BadParameter("nothing can be embedded without an embedder", param_hint="--reembed")
    place = Place.of(store, scope, index, None if no_embedder else embedder)
    upkeep.rebuild(place, everything=everything, reembed=reembed)


@evaluate.command("qa")
def eval_qa(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Evidence-QA rows, one a line.")],
    systems: Systems = None,
    one_scope: Annotated[bool, typer.Option("--one-scope", help="Put all rows into one scope.")] = False,
    distractors: Annotated[
        int, typer.Option("--distractors", min=0, help="Add this many units of unrelated prose to every scope.")
    ] = 0,
    embedder: EmbedderOption = Embedder.MINILM,
    jobs: Jobs = 1,
    limit: Annotated[int | None, typer.Option(metavar="N", min=1, help="Ask only the first questions.")] = None,
    json: JsonFile = None,
    raw: RawFile = None,
) -> None:
    """Is the evidence of a question among what comes back?"""
    from prism_core.cli import measuring

    size = measuring.Size(one_scope, distractors, limit)
    output = measuring.Output(json, raw)
    measuring.eval_qa(file, systems=systems, size=size, embedder=embedder, jobs=jobs, output=output)


@evaluate.command("traces")
def eval_traces(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Agent runs, one a line.")],
    systems: Systems = None,
    tasks: Annotated[Tasks, typer.Option(help="Ask only in runs of these task numbers.")] = Tasks.ALL,
    variants: Annotated[
        str | None,
        typer.Option(metavar="NAMES", help="Of plain, told, own, blind; separated by commas.", show_default="all"),
    ] = None,
    jobs: Jobs = 1,
    limit: Annotated[int | None, typer.Option(metavar="N", min=1, help="Ask only in the first runs.")] = None,
    json: JsonFile = None,
    raw: RawFile = None,
) -> None:
    """Does the memory bring the values that a tool call needs from earlier in its run?"""
    from prism_core.cli import measuring

    output = measuring.Output(json, raw)
    measuring.eval_traces(file, systems=systems, tasks=tasks, variants=variants, jobs=jobs, limit=limit, output=output)


@evaluate.command("abstention")
def eval_abstention(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Evidence-QA rows, one a line.")],
    offdomain: Annotated[
        Path, typer.Option(metavar="TRACES", help="Agent runs; what their users say is asked of every row.")
    ],
    systems: Systems = None,
    per_row: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Off-domain messages per row, drawn at random.", show_default="all"),
    ] = None,
    embedder: EmbedderOption = Embedder.MINILM,
    jobs: Jobs = 1,
    json: JsonFile = None,
    raw: RawFile = None,
) -> None:
    """Does the memory know when it has nothing to say?"""
    from prism_core.cli import measuring

    output = measuring.Output(json, raw)
    measuring.eval_abstention(
        file, offdomain, systems=systems, per_row=per_row, embedder=embedder, jobs=jobs, output=output
    )


@evaluate.command("robustness")
def eval_robustness(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Evidence-QA rows or agent runs, one a line.")],
    draws: Annotated[int, typer.Option(metavar="N", min=1, help="Wrong weight tables.")] = 10,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Of the random factors.")] = 0,
    limit: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Ask only the first questions, or in the first runs.")
    ] = None,
    json: JsonFile = None,
    raw: RawFile = None,
) -> None:
    """How much is lost when the weights are wrong?"""
    from prism_core.cli import measuring

    measuring.eval_robustness(file, draws=draws, seed=seed, limit=limit, output=measuring.Output(json, raw))


@evaluate.command("links")
def eval_links(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Agent runs, one a line.")],
    limit: Annotated[int | None, typer.Option(metavar="N", min=1, help="Only the first runs.")] = None,
    json: JsonFile = None,
    raw: RawFile = None,
) -> None:
    """Do links lead to the steps that a call's values came from?"""
    from prism_core.cli import measuring

    measuring.eval_links(file, limit=limit, output=measuring.Output(json, raw))


@evaluate.command("failures")
def eval_failures(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Failed runs with 'mistake_step', one a line.")],
    limit: Annotated[int | None, typer.Option(metavar="N", min=1, help="Only the first runs.")] = None,
    json: JsonFile = None,
    raw: RawFile = None,
) -> None:
    """How early does a failure path name the mistake?"""
    from prism_core.cli import measuring

    measuring.eval_failures(file, limit=limit, output=measuring.Output(json, raw))


@evaluate.command("weights")
def eval_weights(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Evidence-QA rows, one a line.")],
    pull: Annotated[
        float | None,
        typer.Option(
            metavar="X", min=1e-6, help="How strongly a fit is drawn to the shipped weights.", show_default="0.003"
        ),
    ] = None,
    limit: Annotated[int | None, typer.Option(metavar="N", min=1, help="Ask only the first questions.")] = None,
    json: JsonFile = None,
    raw: RawFile = None,
) -> None:
    """Where do the weights come from, and what is each worth?"""
    from prism_core.cli import measuring

    measuring.eval_weights(files, pull=pull, limit=limit, output=measuring.Output(json, raw))


@app.command()
def tasks(
    store: Store = DEFAULT_STORE,
    scope: ScopeSegments = None,
) -> None:
    """Show where every task has got to: its goal, the sub-goal, the latest step, and how the goal evolved."""
    from prism_core.cli import asking

    asking.tasks(Place.of(store, scope))


@labels.command("show")
def taxonomy_show(
    store: Store = DEFAULT_STORE,
    bundled: Annotated[bool, typer.Option("--bundled", help="The bundled labels; needs no store.")] = False,
) -> None:
    """Print the labels of a store as a tree."""
    from prism_core.cli import labelling

    labelling.show(Place.of(store, None), bundled=bundled)


@labels.command("suggest")
def taxonomy_suggest(
    output: Annotated[Path, typer.Option("--output", metavar="FILE", help="YAML or JSON.")] = Path("taxonomy.yaml"),
    store: Store = DEFAULT_STORE,
    scope: ScopeSegments = None,
    no_embedder: NoEmbedder = False,
    embedder: EmbedderOption = Embedder.MINILM,
) -> None:
    """Propose labels from what is stored, in a file for a person to edit."""
    from prism_core.cli import labelling

    labelling.suggest(Place.of(store, scope, embedder=None if no_embedder else embedder), output)


@labels.command("apply")
def taxonomy_apply(
    file: Annotated[Path, typer.Argument(help="YAML or JSON, as suggest writes it.", exists=True, dir_okay=False)],
    store: Store = DEFAULT_STORE,
    scope: ScopeSegments = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would change, and write nothing.")] = False,
    no_embedder: NoEmbedder = False,
    embedder: EmbedderOption = Embedder.MINILM,
) -> None:
    """Label what is stored by a file's taxonomy; what is written later is labelled by it too."""
    from prism_core.cli import labelling

    labelling.apply(Place.of(store, scope, embedder=None if no_embedder else embedder), file, dry_run=dry_run)
