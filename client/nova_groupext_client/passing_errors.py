# SPDX-License-Identifier: Apache-2.0
"""Errors that end by themselves: for a moment the cloud does not answer."""

from collections.abc import Callable
import time
import typing

from keystoneauth1 import exceptions as ksa_exceptions
from openstack import exceptions

# Seconds for which the cloud may not answer, as while a service restarts.
PATIENCE = 60

_STATUSES = (502, 503, 504)

_Result = typing.TypeVar('_Result')


def is_passing(error: Exception) -> bool:
    """Check whether the same request may be answered a little later."""
    if isinstance(error, exceptions.HttpException):
        return error.status_code in _STATUSES
    return isinstance(error, ksa_exceptions.ConnectionError)


def retried(
    call: Callable[[], _Result], interval: float, patience: float = PATIENCE
) -> _Result:
    """Return what a function returns, once no passing error prevents it.

    :param interval: seconds between calls
    :param patience: seconds after which a passing error is raised
    """
    give_up_at = time.monotonic() + patience
    while True:
        try:
            return call()
        except Exception as exc:
            if not is_passing(exc) or time.monotonic() >= give_up_at:
                raise
        time.sleep(interval)
