# SPDX-License-Identifier: Apache-2.0
"""Chunks of items, each for one query or request."""

from collections.abc import Iterable
from collections.abc import Iterator
import itertools
from typing import TypeVar

_Item = TypeVar('_Item')


def chunked(items: Iterable[_Item], size: int) -> Iterator[list[_Item]]:
    """Yield lists of the items in their order.

    :param size: largest number of items in a list
    """
    iterator = iter(items)
    return iter(lambda: list(itertools.islice(iterator, size)), [])
