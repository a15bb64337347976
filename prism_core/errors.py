"""The errors prism-memory raises.

Every error derives from `PrismError`, also from the builtin its condition corresponds to, carries the offending
value, and says in its message what to do instead.
"""

from __future__ import annotations

from collections.abc import Sequence

LONGEST_SHOWN = 200
"""Characters of an offending value that a message shows; the error itself carries all of it."""


class PrismError(Exception):
    """Root of every error raised by prism-memory."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message

    def __str__(self) -> str:
        # KeyError would show the repr of its argument; a remedy should be readable.
        return self.message


def _brief(value: object) -> str:
    return _shortened(repr(value))


def _shortened(shown: str) -> str:
    half = LONGEST_SHOWN // 2
    return shown if len(shown) <= LONGEST_SHOWN else f"{shown[:half]}...{shown[-half:]}"


class ScopeError(PrismError, PermissionError):
    """A scope is missing or malformed. Nothing is read or written without one."""

    def __init__(self, scope: object, problem: str) -> None:
        super().__init__(
            f"scope {_brief(scope)} {problem}; pass a non-empty string or a sequence of them, "
            "for example scope=('acme', 'alice')"
        )
        self.scope = scope


class InvalidEventError(PrismError, ValueError):
    """An event cannot be stored as given."""

    def __init__(self, field: str, value: object, remedy: str) -> None:
        super().__init__(f"event field {field}={_brief(value)} cannot be stored; {remedy}")
        self.field = field
        self.value = value


class NaiveDatetimeError(PrismError, ValueError):
    """A datetime without a time zone was passed where an instant is needed."""

    def __init__(self, field: str, value: object) -> None:
        super().__init__(
            f"{field}={_brief(value)} has no time zone; pass an aware datetime, for example "
            "datetime(2026, 5, 20, 9, 0, tzinfo=timezone.utc)"
        )
        self.field = field
        self.value = value


class QueryError(PrismError, ValueError):
    """A query or one of its limits is unusable."""

    def __init__(self, field: str, value: object, remedy: str) -> None:
        super().__init__(f"query field {field}={_brief(value)} is unusable; {remedy}")
        self.field = field
        self.value = value


class BudgetError(PrismError, ValueError):
    """A token budget is not a positive whole number."""

    def __init__(self, budget: object) -> None:
        super().__init__(
            f"budget={_brief(budget)} is not a positive whole number of tokens; pass for example budget=1000"
        )
        self.budget = budget


class UnknownUnitError(PrismError, KeyError):
    """No unit of this id exists in the scope that was asked."""

    def __init__(self, unit_id: str, scope: Sequence[str]) -> None:
        super().__init__(
            f"no unit {_brief(unit_id)} in scope {_brief(tuple(scope))}; "
            "unit ids come from a receipt or a search in the same scope"
        )
        self.unit_id = unit_id
        self.scope = tuple(scope)


class UnknownReceiptError(PrismError, KeyError):
    """No receipt of this id was ever given out in the scope that was asked."""

    def __init__(self, receipt_id: str, scope: Sequence[str]) -> None:
        super().__init__(
            f"no receipt {_brief(receipt_id)} in scope {_brief(tuple(scope))}; "
            "receipt ids are returned by write and write_many"
        )
        self.receipt_id = receipt_id
        self.scope = tuple(scope)


class CausalCycleError(PrismError, ValueError):
    """A link would close a cycle in a relation that follows the arrow of time."""

    def __init__(self, relation: str, cycle: Sequence[str]) -> None:
        super().__init__(
            f"a {relation} link would close the cycle {' -> '.join(cycle)}; "
            "source must be the earlier or causing unit, target the later one"
        )
        self.relation = relation
        self.cycle = tuple(cycle)


class InvalidLinkError(PrismError, ValueError):
    """A link cannot be stored as given."""

    def __init__(self, link: object, problem: str) -> None:
        super().__init__(
            f"link {_brief(link)} {problem}; pass Link(source=..., target=..., relation=...) between two units"
        )
        self.link = link


class DimensionMismatchError(PrismError, ValueError):
    """Vectors of another length than the index or the store holds."""

    def __init__(self, expected: int, got: int) -> None:
        super().__init__(
            f"vectors have {got} dimensions, {expected} expected; use the embedder the store was built with, "
            "or rebuild the store's vectors with the new one (PrismMemory.rebuild(reembed=True))"
        )
        self.expected = expected
        self.got = got


class EmbedderMismatchError(PrismError, ValueError):
    """The store's vectors come from another embedder than the one it was opened with."""

    def __init__(self, stored: str, given: str) -> None:
        super().__init__(
            f"the store holds vectors of embedder {_brief(stored)} and was opened with {_brief(given)}; "
            "open it with the former, or pass on_embedder_change='reembed' to compute every vector again "
            "(the text is kept either way)"
        )
        self.stored = stored
        self.given = given


class FormatVersionError(PrismError, RuntimeError):
    """The store was written by a version of prism-memory that this one cannot read."""

    def __init__(self, stored: int, supported: int) -> None:
        super().__init__(
            f"the store has format version {stored}, this prism-memory reads version {supported}; "
            "install the version that wrote it, or a newer one"
        )
        self.stored = stored
        self.supported = supported


class StoreNotFoundError(PrismError, FileNotFoundError):
    """There is no store where one was expected."""

    def __init__(self, path: str) -> None:
        super().__init__(
            f"no prism-memory store at {_brief(path)}; create one with PrismMemory.open(path) or prism ingest"
        )
        self.path = path


class StoreUrlError(PrismError, ValueError):
    """A store URL names a database that cannot be used."""

    def __init__(self, url: str, problem: str) -> None:
        super().__init__(f"store {_brief(url)} {problem}; pass a directory, ':memory:' or a sqlite:///file.db URL")
        self.url = url


class LedgerError(PrismError, OSError):
    """The ledger's database refused an operation; nothing of it was stored."""

    def __init__(self, operation: str, cause: str) -> None:
        super().__init__(
            f"the ledger could not {operation}: {cause}; nothing was stored, check disk space, permissions and "
            "other processes, then try again"
        )
        self.operation = operation
        self.cause = cause


class StaleReadError(PrismError, RuntimeError):
    """Changes were derived from a state of the scope that another writer has moved on from."""

    def __init__(self, based_on: int, head: int) -> None:
        super().__init__(f"changes were based on seq {based_on}, the scope is at {head}; derive them again and retry")
        self.based_on = based_on
        self.head = head


class WriteConflictError(PrismError, RuntimeError):
    """Other writers kept moving the scope on; the write gave up and stored nothing."""

    def __init__(self, attempts: int) -> None:
        super().__init__(f"gave up after {attempts} attempts because other writers kept changing the scope; retry")
        self.attempts = attempts


class ClosedError(PrismError, RuntimeError):
    """The memory was used after `close()`."""

    def __init__(self, operation: str) -> None:
        super().__init__(f"{operation} was called on a closed memory; open it again with PrismMemory.open()")
        self.operation = operation


class EmbeddingError(PrismError, RuntimeError):
    """An embedder failed. Units written meanwhile are kept and embedded later."""

    def __init__(self, embedder: str, cause: str) -> None:
        super().__init__(
            f"embedder {_brief(embedder)} failed: {cause}; "
            "units are kept, found lexically, and embedded once it works again"
        )
        self.embedder = embedder
        self.cause = cause


class TaxonomyError(PrismError, ValueError):
    """A taxonomy of intents cannot be used."""

    def __init__(self, label: str, problem: str, *, file: str = "") -> None:
        place = f"{file}: " if file else ""
        super().__init__(
            f"{place}taxonomy label {_brief(label)} {problem}; the format is described in docs/taxonomy.md"
        )
        self.label = label
        self.problem = problem


class PromptError(PrismError, ValueError):
    """A prompt is unknown, or cannot be filled."""

    def __init__(self, prompt: str, problem: str) -> None:
        super().__init__(f"prompt {_brief(prompt)} {problem}; the bundled ones are described in docs/llm.md")
        self.prompt = prompt


class LLMError(PrismError, RuntimeError):
    """A language model failed to answer. What it was asked for is done by rules instead."""

    def __init__(self, llm: str, cause: str) -> None:
        super().__init__(f"model {_brief(llm)} failed: {cause}; rules do its work meanwhile")
        self.llm = llm
        self.cause = cause


class LLMReplyError(LLMError):
    """A language model's answer could not be used, even after it was asked to mend it."""


class LLMBudgetError(LLMError):
    """A hard budget of calls or tokens is used up; nothing was called."""


class ModelFileError(PrismError, OSError):
    """The bundled model's files are missing or not the ones this version was built with."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(
            f"model file {_brief(path)} {problem}; reinstall prism-memory, or pass an embedder of your own"
        )
        self.path = path


class DatasetError(PrismError, ValueError):
    """A data file does not have the format its command expects."""

    def __init__(self, path: str, line: int, problem: str) -> None:
        super().__init__(f"{_shortened(path)}, line {line}: {problem}; the formats are described in docs/cli.md")
        self.path = path
        self.line = line


class FlushTimeoutError(PrismError, TimeoutError):
    """What was accepted was not processed in time."""

    def __init__(self, seconds: float) -> None:
        super().__init__(
            f"after {seconds:g} s events still wait in the inbox; they are durable and will be processed: wait longer"
        )
        self.seconds = seconds


class MissingExtraError(PrismError, ImportError):
    """An optional part was used without the extra that installs it."""

    def __init__(self, extra: str, module: str) -> None:
        super().__init__(f"{module} is not installed; pip install 'prism-memory[{extra}]'")
        self.extra = extra
        self.module = module


class IndexLockedError(PrismError, RuntimeError):
    """A vector index on disk is in use already; one process may own it at a time."""

    def __init__(self, directory: str) -> None:
        super().__init__(
            f"the vector index in {_brief(directory)} is in use; close the memory that owns it, "
            "or open this one with index='exact'"
        )
        self.directory = directory


class IndexFailedError(PrismError, RuntimeError):
    """A vector index on disk refused an operation. Nothing is lost: it is filled again from the ledger."""

    def __init__(self, operation: str, cause: str) -> None:
        super().__init__(
            f"the vector index could not {operation}: {cause}; open the memory again to have the index rebuilt from "
            "the ledger, or open it with index='exact'"
        )
        self.operation = operation
        self.cause = cause
