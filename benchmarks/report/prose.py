"""What the page says in words; the figures come from the results."""

from __future__ import annotations

HEAD = """<!-- Made by `python -m benchmarks.report`; changes by hand are lost. -->
# Evaluation

Every suite, every system and every ablation, those included that beat the memory. No LLM takes part: what is measured
is whether the right memories come back, not whether a model then answers well."""

METHOD = """## How to read the figures

- **Systems.** `prism` is the memory with the packer that all systems get; `prism-stop` is the memory as a host uses
  it, which may leave a budget unused; `prism-lexical` is the memory without an embedder. `prism-sum`,
  `prism-front-first`, `prism-rrf`, `prism-mmr` and the `literal` ones are the memory's own candidates in another order
  ([what each is](cli.md#eval-qa)). `bm25`, `bm25-char`, `dense`, `rrf`, `score-sum` and `recency` are baselines.
  Other tools get the same units, questions and embedder ([how they were set up](peers.md)).
- **Evidence recall.** The share of a question's evidence units among the first 5, 10 or 20 (`R@k`), or in a context of
  so many tokens (`500t`). `all@10`: all of it among the first 10. `tokens`: mean size of the contexts for 500 tokens.
- **Tokens** are o200k tokens of the rendered block that goes into the prompt: speakers, dates and the wrapper count.
  Every system's ranking is rendered and packed by the same code; in the columns of this page a unit counts only
  when it stands whole in the context. `prism eval qa` prints what excerpts of long units bring besides.
- **Intervals** are 95 % percentile intervals of a paired bootstrap with {resamples} resamples and seed {seed}. What
  is drawn is conversations (or tasks), since questions about one conversation are alike. With five conversations
  an interval is rough; of a file with a single store its questions are drawn. `prism - x [low, high]` is what `prism`
  is
  ahead by.
- **Repeatability.** Clock and ids are scripted, ties are broken by position, draws have seeds: on the same packages
  everything but the times comes out the same. Other processors may round the embedder's sums in another way.
- `--raw OUT` of every `prism eval` command writes what each system returned for each question.

### Which figures were tuned on the same data

- The weight table was chosen on these five LoCoMo conversations and these airline tasks: **both are the memory's home
  ground**, and the figures say how well it can be set up rather than what to expect elsewhere. The baselines are not
  tuned beyond their usual defaults.
- The stop of `prism-stop` was fitted on LoCoMo and MADial together.
- MADial and the long units were looked at as well: how far words count where no unit holds many of them, and where
  the ground of similarities lies, were chosen on MADial and LoCoMo; the rule that long units lean less on their
  session, and the limits of excerpts, on the long units. Front penalty and step were chosen on LoCoMo
  ([why](decisions/0010-epsilon-dominance.md)). No part of any file was held out from these choices.
- LoCoMo, MADial and tau-bench are here with one half of each; the other half is no part of this page."""

QUESTIONS = {
    "locomo": """## Long conversations: LoCoMo

Five very long conversations of two people, each a store of its own, with questions about what was said. About 4 % of
the evidence labels are known to be wrong, so differences below about 1.5 points mean little. Adversarial questions,
whose premise is false, are listed apart and count for nothing. CC BY-NC 4.0; not part of this project.""",
    "madial-en": """## Associations: MADial, English

Short memories of a child's life, and what the child says now; evidence is what a good friend would think of. Little of
it shares a word with the question. One store of 160 memories, MIT.""",
    "madial-zh": """## Associations: MADial, Chinese

The same in Chinese. The bundled embedder is English: the memory does without vectors for such texts, and every system
or tool that relies on MiniLM alone is close to guessing here. `--embedder multilingual` is what changes that; it is no
part of this page.""",
    "long-units": """## Long units

Four stores of 23 to 26 units of 325 to 975 words, which resemble each other; written for this project
([how](../benchmarks/data/README.md)). A unit seldom fits a budget below 1,000 tokens, so that
**every system is close to zero at 250 and 500 tokens where only whole units count**, as they do here; what excerpts
bring is printed by the command below as `answer_recall`. `R@k` over so few units is easy.""",
}

RUNS = """## Agent runs: tau-bench, airline

For every tool call that uses a value from earlier in its run (an id, a date, an amount): is the value in the context
that the memory returns just before the call? `old`: values last seen more than 8 steps before. `step`: the step of this
very run that holds the value was returned; a value may also come from another run by chance. `all-ids`, `oracle`,
`scoped-bm25` and `recency` are told which run asks, which the memory has to find out; `oracle` is also told what is
needed, and being greedy is not an upper bound. `prism-compact` quotes steps by their identifiers where not all fit;
`all-ids` lists bare identifiers: cheap, but nothing then says what a value stands for. The store holds 100 runs; four
attempts at each task. MIT."""

VARIANTS = {
    "plain": "The query is the tool's name and the last user message; the last three steps are the active set.",
    "told": "The task is named in the query as well.",
    "own": "Other attempts at the same task are left out of the store.",
    "blind": "Task, session, parent and call ids are withheld and all runs are written in turns: the hardest case.",
}

HALVES = """The same figures on the two halves. Weights were looked at on both."""

ABSTENTION = """## Nothing to say

Does the answerability of a retrieval tell answerable questions from off-domain ones (what airline customers say,
asked of
LoCoMo stores) and from near misses (questions about another conversation with the names replaced)? `auroc`: the chance
that an answerable question scores higher. `kept@5`: the share of answerable questions that pass where 5 % of the others
do. The score was designed on this data."""

ROBUSTNESS = """## Wrong weights

Every weight is multiplied by a random factor between 1/4 and 4, and every pool is put in order again: by the soft order
(the default), by the weighted sum, strictly by front. Mean and worst over the draws; `R@10` alone is the shipped table.
Fronts are worth having where mean and worst of an order with fronts are above those of `sum`; a difference of a point
is within what other draws would give."""

WEIGHTS = """## Where the weights come from, and what each is worth

The table was found by hand and kept to round figures. Here it is checked: a conditional logit is fitted to all rows but
one, drawn to the shipped table, and asked about the row left out; the weights' spread is over those fits. The last
columns show what changes when a signal is left out of the shipped table and nothing else is changed: below zero the
signal helps; an interval that holds zero says the signal is not proven here. Signals overlap, so that these changes do
not add up."""

EXAMPLE = """## One question's objectives

All {n} candidates of one question (`{question}`) within {budget} tokens. Objectives are those of the weights that suit
the question; a front dominates those after it in *all* objectives, so in the two shown here a later front may lie
further out. Crosses are the evidence, whether or not it was returned."""

TIMES = """## Search time

Wall time of a search without embedding the question, for stores of this size, **in the run that made this page and on
whatever machine that was**. Nothing kept the machine free of other work: the load column is the number of runnable
processes before and after. Compare only rows of one suite, and do not quote these as the product's speed; that is what
`python benchmarks/memory.py` measures."""

NOT_MEASURED = """## What is not measured

- **Answers.** No LLM writes an answer or judges one; published LoCoMo scores of other tools are mostly answer scores
  and cannot be compared with these.
- **What needs a server, a key or a download**: Letta, Zep, Graphiti, Cognee, Hindsight; extraction by mem0, mining by
  MemPalace, fact blocks and query generation by LlamaIndex. All ran here without, where they run at all
  ([details](peers.md)).
- **Other embedders.** Everybody gets the bundled MiniLM. A larger or multilingual model changes every row but
  the lexical ones (`prism eval qa FILE --embedder multilingual`).
- **Growth.** The stores are small. `prism eval qa FILE --distractors N` adds unrelated prose; it is not part of this
  page.
- **The supply constants**, which decide in the middle of a task, are not linear weights and are not cross-validated."""

PROVENANCE = """## Data, versions, machine

`python -m benchmarks.report DATA` with these files in the folder `DATA` measures what is missing and makes this page;
commands above name files without the folder."""
