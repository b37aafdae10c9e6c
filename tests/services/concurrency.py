# SPDX-License-Identifier: Apache-2.0
"""Calls that are made at the same moment."""

from concurrent import futures
import threading


def call_concurrently(calls):
    """Run each call in a thread of its own, all from the same moment on.

    :returns: list of the calls' results, or of the exceptions they raised
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
