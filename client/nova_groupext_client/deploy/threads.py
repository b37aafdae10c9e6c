# SPDX-License-Identifier: Apache-2.0
"""Worker threads for requests that an interrupt must not abort."""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from concurrent import futures
import threading
import typing

_Argument = typing.TypeVar('_Argument')
_Arguments = typing.TypeVarTuple('_Arguments')
_Result = typing.TypeVar('_Result')


class Threads:
    """Pool of worker threads, all started at once.

    An interrupt of the main thread while ``submit`` starts a worker would
    make the pool lose track of it. So none is started later.
    """

    def __init__(self, number: int) -> None:
        self._pool = futures.ThreadPoolExecutor(number)
        barrier = threading.Barrier(number)
        try:
            for _ in self._pool.map(lambda _: barrier.wait(), range(number)):
                pass
        except BaseException:
            barrier.abort()
            self.shut_down()
            raise

    def shut_down(self) -> None:
        """Cancel pending calls and wait for running ones."""
        self._pool.shutdown(wait=True, cancel_futures=True)

    def call(
        self, function: Callable[[*_Arguments], _Result], *args: *_Arguments
    ) -> _Result:
        """Return the result of a function that a worker thread calls."""
        return self._pool.submit(function, *args).result()

    def call_for_each(
        self,
        function: Callable[[_Argument], _Result],
        values: Iterable[_Argument],
    ) -> Iterator[_Result]:
        """Call a function with each value; yield results as they complete."""
        pending = [self._pool.submit(function, value) for value in values]
        for future in futures.as_completed(pending):
            yield future.result()
