"""An incremental inverted index in memory, scored with BM25.

Robertson & Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", Foundations and Trends in Information
Retrieval 3(4), 2009, in the variant of Lucene 8 and later.
"""

from __future__ import annotations

import math
import threading
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from prism_core.changes import FloatArray, IntArray

# Measured bytes of one posting, term and row with their containers, for `nbytes`.
_POSTING_BYTES = 15
_TERM_BYTES = 345
_ROW_BYTES = 100


class _Postings:
    """The documents that hold a term, ascending, and how often each does.

    Plain arrays grow in amortised constant time, are edited in place, and are read by NumPy without a copy. A view
    must not outlive the lock: an array cannot grow while it is viewed.
    """

    __slots__ = ("counts", "documents")

    def __init__(self) -> None:
        self.documents = array("i")
        self.counts = array("f")

    def add(self, document: int, count: int) -> bool:
        """Count more occurrences in a document; whether it did not hold the term before."""
        at = bisect_left(self.documents, document)
        if at < len(self.documents) and self.documents[at] == document:
            self.counts[at] += count
            return False
        self.documents.insert(at, document)
        self.counts.insert(at, count)
        return True

    def take(self, document: int, count: int) -> bool:
        """Count fewer occurrences in a document that holds the term; whether it no longer does."""
        at = bisect_left(self.documents, document)
        self.counts[at] -= count
        if self.counts[at] > 0:
            return False
        del self.documents[at], self.counts[at]
        return True

    def count(self, document: int) -> int:
        """How often a document that holds the term does."""
        return int(self.counts[bisect_left(self.documents, document)])

    def contains(self, documents: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Which of `documents` (any order, repetitions allowed) hold the term; shape of `documents`."""
        own = np.frombuffer(self.documents, np.int32)
        found: NDArray[np.bool_] = own[np.minimum(np.searchsorted(own, documents), len(own) - 1)] == documents
        return found


class _Documents:
    """Bags of numbered terms, scored with BM25; a term that was never seen has the number -1."""

    def __init__(self) -> None:
        self.postings: list[_Postings] = []
        self.lengths = array("f")
        self.total_length = 0
        self.posting_count = 0

    def __len__(self) -> int:
        return len(self.lengths)

    def add(self, document: int, counts: Mapping[int, int]) -> None:
        """Add terms to a document, or to a new one."""
        if document >= len(self.lengths):
            self.lengths.extend([0.0] * (document + 1 - len(self.lengths)))
        postings, fresh, length = self.postings, 0, 0
        unseen = max(counts, default=-1) + 1 - len(postings)
        postings.extend([_Postings() for _ in range(unseen)])
        for term, count in counts.items():
            posting = postings[term]
            documents = posting.documents
            # Most documents come in their order; the usual cases are spelled out because they are most of a load.
            if documents and documents[-1] == document:
                posting.counts[-1] += count
            elif documents and documents[-1] > document:
                fresh += posting.add(document, count)
            else:
                documents.append(document)
                posting.counts.append(count)
                fresh += 1
            length += count
        self.posting_count += fresh
        self.lengths[document] += length
        self.total_length += length

    def take(self, document: int, counts: Mapping[int, int]) -> None:
        """Take terms from a document that holds them."""
        length = sum(counts.values())
        self.posting_count -= sum(self.postings[term].take(document, count) for term, count in counts.items())
        self.lengths[document] -= length
        self.total_length -= length

    def find(self, term: int) -> _Postings | None:
        """The postings of a term that some document holds."""
        return self.postings[term] if 0 <= term < len(self.postings) and self.postings[term].documents else None

    def idf(self, df: int) -> float:
        """Rarity of a term that `df` documents hold."""
        return math.log1p((len(self) - df + 0.5) / (df + 0.5))

    def scores(self, terms: Mapping[int, int], k1: float, b: float) -> FloatArray:
        """BM25 of every document for terms with how often each is asked for; shape (n,)."""
        scores = np.zeros(len(self), np.float32)
        if not self.total_length:
            return scores
        # What a count competes with in each document.
        slope = k1 * b * len(self) / self.total_length
        pull = np.float32(k1 * (1 - b)) + np.float32(slope) * np.frombuffer(self.lengths, np.float32)
        for term, times in terms.items():
            postings = self.find(term)
            if postings is not None:
                documents = np.frombuffer(postings.documents, np.int32)
                counts = np.frombuffer(postings.counts, np.float32)
                share = counts / (counts + np.take(pull, documents))
                scores[documents] += np.float32(times * self.idf(len(documents))) * share
        return scores


class LexicalIndex:
    """BM25 over rows 0 to n - 1, each a bag of terms, added to and replaced one at a time.

    A row's score is the sum, over the query's terms, of `idf * tf / (tf + k1 * (1 - b + b * length / mean length))`
    with `idf = ln(1 + (n - df + 0.5) / (df + 0.5))`. Counts and lengths are stored and weights computed when asked,
    so scores are always those of an index built afresh. Rows may belong to groups, which are scored in the same way,
    each as one document of the terms of all its rows. Safe for use by several threads.

    Args:
        k1: how slowly repetitions saturate; at least 0.
        b: how much long rows are penalised; in [0, 1].
    """

    def __init__(self, k1: float = 0.9, b: float = 0.4) -> None:
        self.k1 = k1
        self.b = b
        self._term_ids: dict[str, int] = {}
        self._rows = _Documents()
        self._groups = _Documents()
        self._terms_of_row: list[array[int]] = []
        self._group_of_row = array("i")
        self._lock = threading.Lock()

    def __len__(self) -> int:
        """How many rows there are."""
        return len(self._terms_of_row)

    @property
    def nbytes(self) -> int:
        """Estimated bytes of memory, terms included."""
        postings = self._rows.posting_count + self._groups.posting_count
        sizes = (postings, _POSTING_BYTES), (len(self._term_ids), _TERM_BYTES), (len(self), _ROW_BYTES)
        return sum(count * size for count, size in sizes)

    def put(self, row: int, terms: Sequence[str], *, group: int = -1) -> None:
        """Append a row, or replace the terms of an existing one.

        Args:
            row: at most `len(self)`.
            terms: the row's terms with repetitions; may be empty.
            group: number of the group it belongs to, -1 for none.

        Raises:
            IndexError: if `row` is negative or beyond the end.
        """
        with self._lock:
            if not 0 <= row <= len(self):
                raise IndexError(f"row {row} is not in 0..{len(self)}; rows are added one after the other")
            if row == len(self):
                self._terms_of_row.append(array("i"))
                self._group_of_row.append(group)
            else:
                self._clear(row)
            known = self._term_ids
            counts = {known.setdefault(term, len(known)): count for term, count in Counter(terms).items()}
            self._terms_of_row[row] = array("i", counts)
            self._group_of_row[row] = group
            self._rows.add(row, counts)
            if group >= 0:
                self._groups.add(group, counts)

    def scores(self, terms: Sequence[str]) -> FloatArray:
        """BM25 of every row.

        Args:
            terms: the query's terms; a repeated term counts as often as it is repeated.

        Returns:
            Shape (n,), float32, at least 0; exactly 0 where no term matches.
        """
        with self._lock:
            return self._rows.scores(self._wanted(terms), self.k1, self.b)

    def group_scores(self, terms: Sequence[str]) -> FloatArray:
        """BM25 of every group, taken as one document.

        Args:
            terms: the query's terms, as for `scores`.

        Returns:
            Shape (number of groups,), float32, at least 0.
        """
        with self._lock:
            return self._groups.scores(self._wanted(terms), self.k1, self.b)

    def held(self, terms: Sequence[str], rows: IntArray) -> NDArray[np.bool_]:
        """Which terms each row holds.

        Args:
            terms: t terms, any of which may be unknown.
            rows: m rows, in any order.

        Returns:
            Shape (t, m).
        """
        with self._lock:
            wanted = rows.astype(np.int32)
            found = np.zeros((len(terms), len(rows)), np.bool_)
            for place, term in enumerate(terms):
                postings = self._find(term)
                if postings is not None:
                    found[place] = postings.contains(wanted)
            return found

    def document_frequency(self, term: str) -> int:
        """How many rows hold the term."""
        with self._lock:
            postings = self._find(term)
            return len(postings.documents) if postings else 0

    def _find(self, term: str) -> _Postings | None:
        return self._rows.find(self._term_ids.get(term, -1))

    def _wanted(self, terms: Sequence[str]) -> dict[int, int]:
        """Known terms by number, with how often each is asked for."""
        return {self._term_ids[term]: times for term, times in Counter(terms).items() if term in self._term_ids}

    def _clear(self, row: int) -> None:
        counts = {term: self._rows.postings[term].count(row) for term in self._terms_of_row[row]}
        self._rows.take(row, counts)
        if self._group_of_row[row] >= 0:
            self._groups.take(self._group_of_row[row], counts)
