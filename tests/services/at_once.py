# SPDX-License-Identifier: Apache-2.0
"""Calls that are made at the same moment."""

from concurrent import futures
import threading


def at_once(calls):
    """Make each call in a thread of its own, all from the same moment on.

    :returns: what each returned, or the exception that it raised
    """
    start = threading.Barrier(len(calls))

    def run(call):
        start.wait()
        try:
            return call()
        except Exception as exc:
            return exc

    with futures.ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls))
