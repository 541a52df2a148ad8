"""Dask on Pigeon: any executor of concurrent.futures can be Dask's scheduler.

    pip install dask cloudpickle pigeonsched
    python with_dask.py

The nodes need the same Python with Dask. Dask has max_workers calls under way at a time, each
with some of the graph's tasks; what one task gives to the next travels through this program,
within the limits of pigeonsched's README.
"""

from __future__ import annotations

import dask
import dask.delayed

from pigeonsched import PigeonExecutor


def count_words(text: str) -> dict[str, int]:
    words: dict[str, int] = {}
    for word in text.lower().split():
        words[word] = words.get(word, 0) + 1
    return words


def merge(parts: list[dict[str, int]]) -> dict[str, int]:
    words: dict[str, int] = {}
    for part in parts:
        for word, n in part.items():
            words[word] = words.get(word, 0) + n
    return words


def main(texts: list[str]) -> dict[str, int]:
    """Counts the words of some texts on the cluster."""
    counted = [dask.delayed(count_words)(text) for text in texts]
    total = dask.delayed(merge)(counted)
    with PigeonExecutor(name="count-words", max_workers=8) as executor:
        words: dict[str, int] = total.compute(scheduler=executor)
    return words


if __name__ == "__main__":
    print(main(["the pigeon and the sparrow", "the hawk and the eagle"]))
