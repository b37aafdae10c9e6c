# SPDX-License-Identifier: Apache-2.0
"""Polls of a group or a proposal until a condition is met."""

from collections.abc import Callable
from collections.abc import Collection
import time
import typing

from openstack import exceptions

from nova_groupext_client import api_types
from nova_groupext_client import passing_errors
from nova_groupext_client import sentences

_Polled = typing.TypeVar('_Polled')


def poll(
    read: Callable[[], _Polled],
    is_over: Callable[[_Polled], bool],
    failure: Callable[[_Polled], str],
    interval: float,
    wait: float | None,
) -> _Polled:
    """Call ``read`` until ``is_over`` is true for its result; return that.

    While the cloud does not answer, the wait goes on, though not for ever.

    :param failure: returns the text of a timeout for the last result
    :param interval: seconds between calls
    :param wait: timeout in seconds, None for none
    :raises: ResourceTimeout
    """
    deadline = None if wait is None else time.monotonic() + wait

    def read_once() -> _Polled:
        return passing_errors.retried(read, interval)

    while not is_over(result := read_once()):
        if deadline is not None and time.monotonic() >= deadline:
            raise exceptions.ResourceTimeout(
                f'{failure(result)} after {wait} seconds'
            )
        time.sleep(interval)
    return result


def has_status(
    group: api_types.Group,
    statuses: Collection[str] | None,
    failures: Collection[str],
) -> bool:
    """Check whether a group has one of some statuses.

    :param statuses: None for any after planning, without failures
    :raises: ResourceFailure for one of ``failures`` that is no such status
    """
    if statuses is None:
        return not group.is_planning
    if group.status in failures and group.status not in statuses:
        raise exceptions.ResourceFailure(
            '\n'.join([status_text(group), *sentences.failure_reasons(group)])
        )
    return group.status in statuses


def status_text(group: api_types.Group, adverb: str = '') -> str:
    return f'The group {group.name} ({group.id}) is {adverb}{group.status}'
