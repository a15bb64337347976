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
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from prism_core.changes import FloatArray, IntArray

# Measured bytes of one posting, term and row with their containers, for `nbytes`.
_POSTING_BYTES = 15
_TERM_BYTES = 345
_ROW_BYTES = 100


class _Postings:
    """The rows that hold a term, ascending, and how often each does.

    Plain arrays grow in amortised constant time, are edited in place, and are read by NumPy without a copy. A view
    must not outlive the lock: an array cannot grow while it is viewed.
    """

    __slots__ = ("counts", "rows")

    def __init__(self) -> None:
        self.rows = array("i")
        self.counts = array("f")

    def add(self, row: int, count: int) -> bool:
        """Count more occurrences in a row; whether the row did not hold the term before."""
        at = len(self.rows) if not self.rows or self.rows[-1] < row else bisect_left(self.rows, row)
        if at < len(self.rows) and self.rows[at] == row:
            self.counts[at] += count
            return False
        self.rows.insert(at, row)
        self.counts.insert(at, count)
        return True

    def remove(self, row: int) -> None:
        at = bisect_left(self.rows, row)
        del self.rows[at], self.counts[at]

    def contains(self, rows: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Which of `rows` (any order, repetitions allowed) hold the term; shape of `rows`."""
        own = np.frombuffer(self.rows, np.int32)
        found: NDArray[np.bool_] = own[np.minimum(np.searchsorted(own, rows), len(own) - 1)] == rows
        return found


class LexicalIndex:
    """BM25 over rows 0 to n - 1, each a bag of terms, added to and replaced one at a time.

    A row's score is the sum, over the query's terms, of `idf * tf / (tf + k1 * (1 - b + b * length / mean length))`
    with `idf = ln(1 + (n - df + 0.5) / (df + 0.5))`. Counts and lengths are stored and weights computed when asked,
    so scores are always those of an index built afresh. Safe for use by several threads.

    Args:
        k1: how slowly repetitions saturate; at least 0.
        b: how much long rows are penalised; in [0, 1].
    """

    def __init__(self, k1: float = 0.9, b: float = 0.4) -> None:
        self.k1 = k1
        self.b = b
        self._term_ids: dict[str, int] = {}
        self._postings: list[_Postings] = []
        self._terms_of_row: list[array[int]] = []
        self._lengths = array("f")
        self._total_length = 0
        self._posting_count = 0
        self._lock = threading.Lock()

    def __len__(self) -> int:
        """How many rows there are."""
        return len(self._lengths)

    @property
    def nbytes(self) -> int:
        """Estimated bytes of memory, terms included."""
        sizes = (self._posting_count, _POSTING_BYTES), (len(self._postings), _TERM_BYTES), (len(self), _ROW_BYTES)
        return sum(count * size for count, size in sizes)

    def put(self, row: int, terms: Sequence[str]) -> None:
        """Append a row, or replace the terms of an existing one.

        Args:
            row: at most `len(self)`.
            terms: the row's terms with repetitions; may be empty.

        Raises:
            IndexError: if `row` is negative or beyond the end.
        """
        with self._lock:
            self._require(row)
            self._clear(row)
            self._add(row, terms)

    def scores(self, terms: Sequence[str]) -> FloatArray:
        """BM25 of every row.

        Args:
            terms: the query's terms; a repeated term counts as often as it is repeated.

        Returns:
            Shape (n,), float32, at least 0; exactly 0 where no term matches.
        """
        with self._lock:
            scores = np.zeros(len(self), np.float32)
            if not self._total_length:
                return scores
            pull = self._length_pull()
            for term, times in Counter(terms).items():
                postings = self._find(term)
                if postings is not None:
                    rows = np.frombuffer(postings.rows, np.int32)
                    counts = np.frombuffer(postings.counts, np.float32)
                    scores[rows] += np.float32(times * self._idf(len(rows))) * (counts / (counts + pull[rows]))
            return scores

    def group_scores(self, terms: Sequence[str], groups: IntArray, count: int) -> FloatArray:
        """BM25 of groups of rows, each group taken as one document.

        Args:
            terms: the query's terms, as for `scores`.
            groups: shape (n,), the number of each row's group, or -1 for none.
            count: how many groups there are.

        Returns:
            Shape (count,), float32, at least 0.
        """
        with self._lock:
            scores = np.zeros(count, np.float32)
            grouped = np.flatnonzero(groups >= 0)
            if not count or not len(grouped):
                return scores
            lengths = np.bincount(groups[grouped], np.frombuffer(self._lengths, np.float32)[grouped], count)
            pull = self.k1 * (1 - self.b + self.b * lengths / max(float(lengths.mean()), 1e-9))
            for term, times in Counter(terms).items():
                postings = self._find(term)
                if postings is not None:
                    of_row = groups[np.frombuffer(postings.rows, np.int32)]
                    held = of_row >= 0
                    counts = np.bincount(of_row[held], np.frombuffer(postings.counts, np.float32)[held], count)
                    df = int(np.count_nonzero(counts))
                    idf = math.log1p((count - df + 0.5) / (df + 0.5))
                    scores += (times * idf * counts / np.where(counts, counts + pull, 1)).astype(np.float32)
            return scores

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
            return len(postings.rows) if postings else 0

    def _find(self, term: str) -> _Postings | None:
        """The postings of a term that some row holds."""
        number = self._term_ids.get(term)
        return self._postings[number] if number is not None and self._postings[number].rows else None

    def _idf(self, df: int) -> float:
        return math.log1p((len(self) - df + 0.5) / (df + 0.5))

    def _length_pull(self) -> FloatArray:
        """What a count competes with in each row; shape (n,)."""
        lengths = np.frombuffer(self._lengths, np.float32)
        slope = self.k1 * self.b * len(self) / self._total_length
        return np.float32(self.k1 * (1 - self.b)) + np.float32(slope) * lengths

    def _require(self, row: int) -> None:
        if not 0 <= row <= len(self):
            raise IndexError(f"row {row} is not in 0..{len(self)}; rows are added one after the other")
        if row == len(self):
            self._lengths.append(0)
            self._terms_of_row.append(array("i"))

    def _clear(self, row: int) -> None:
        for number in self._terms_of_row[row]:
            self._postings[number].remove(row)
        self._posting_count -= len(self._terms_of_row[row])
        self._terms_of_row[row] = array("i")
        self._total_length -= int(self._lengths[row])
        self._lengths[row] = 0

    def _add(self, row: int, terms: Sequence[str]) -> None:
        own = self._terms_of_row[row]
        for term, count in Counter(terms).items():
            number = self._term_ids.setdefault(term, len(self._postings))
            if number == len(self._postings):
                self._postings.append(_Postings())
            if self._postings[number].add(row, count):
                own.append(number)
                self._posting_count += 1
        self._lengths[row] += len(terms)
        self._total_length += len(terms)
