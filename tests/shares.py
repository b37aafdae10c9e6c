# SPDX-License-Identifier: Apache-2.0
"""The share of what could be tried for hours that one run tries.

``VRT_SHARE=10`` tries one case in ten, which is the default; ``VRT_SHARE=1``
tries all of them, as ``tox -e long`` does. ``VRT_DRAW`` is any text: another
text draws other cases, the same text the same ones again.
"""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
import hashlib
import os
import random
import unittest

import hypothesis

SHARE = int(os.environ.get('VRT_SHARE', '10'))
DRAW = os.environ.get('VRT_DRAW', '')

#: Fewer cases of one kind than this show nothing.
MIN_CASES = 2


def sample_seeds(count: int, first: int = 0) -> list[int]:
    """Draw some of the seeds from ``first`` to ``first + count - 1``.

    :returns: the drawn seeds in their order, but no fewer than ``MIN_CASES``
        as long as there are so many
    """
    all_seeds = range(first, first + count)
    return sorted(random.Random(DRAW).sample(all_seeds, _share_of(count)))


def _share_of(count: int) -> int:
    return max(count // SHARE, min(count, MIN_CASES))


def with_share_of_examples(
    count: int, *, shrinks: bool = True
) -> Callable[[Callable], Callable]:
    """Return a decorator: run a hypothesis test on a share of its examples.

    :param count: number of examples where the share is everything
    :param shrinks: see with_examples()
    """
    return with_examples(_share_of(count), shrinks=shrinks)


def with_examples(
    count: int, *, shrinks: bool = True
) -> Callable[[Callable], Callable]:
    """Return a decorator: run a hypothesis test on so many examples.

    :param shrinks: False if examples take too long to look for smaller ones
    """
    phases = set(hypothesis.Phase)
    if not shrinks:
        phases -= {hypothesis.Phase.shrink, hypothesis.Phase.explain}
    settings = hypothesis.settings(
        max_examples=count,
        phases=tuple(phases),
        deadline=None,
        database=None,
        print_blob=True,
        suppress_health_check=list(hypothesis.HealthCheck),
    )

    def decorate(test: Callable) -> Callable:
        name = f'{test.__module__}.{test.__qualname__}'
        return settings(hypothesis.seed(number_of(name))(test))

    return decorate


def sampled(tests: Iterable[unittest.TestCase]) -> Iterator[unittest.TestCase]:
    """Draw some of the tests, in their order."""
    for test in tests:
        # A module that cannot be imported is no test that may be left out.
        is_broken = isinstance(test, unittest.loader._FailedTest)
        if is_broken or is_sampled(test.id()):
            yield test


def is_sampled(name: str, share: int = SHARE, draw: str = DRAW) -> bool:
    """Check whether a name is drawn."""
    return number_of(name, draw) % share == 0


def number_of(name: str, draw: str = DRAW) -> int:
    """Return the number that is drawn for a name."""
    digest = hashlib.sha256(f'{draw} {name}'.encode()).digest()
    return int.from_bytes(digest[:8])
