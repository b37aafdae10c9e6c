# SPDX-License-Identifier: Apache-2.0
"""Requests to Placement that read, two at a time."""

from concurrent import futures
import contextlib

# Placement answers so many requests of one look at a time.
AT_ONCE = 2


@contextlib.contextmanager
def executor(context):
    """Yield an executor of requests; at the end it forgets those that wait.

    :param context: of the log lines
    """
    pool = futures.ThreadPoolExecutor(
        AT_ONCE, initializer=context.update_store
    )
    try:
        yield pool
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def read_each(context, check_deadline, read, keys):
    """Return {key: read(context, key)}.

    :param check_deadline: called before each result; raises OutOfTime
    :raises: as read() does
    """
    with executor(context) as pool:
        answers = {each: pool.submit(read, context, each) for each in keys}
        results = {}
        for key, answer in answers.items():
            check_deadline()
            results[key] = answer.result()
        return results
