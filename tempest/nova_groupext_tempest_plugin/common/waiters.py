# SPDX-License-Identifier: Apache-2.0
"""Waiters for changes of groups, with the timeout of ``[vrt]``."""

import time

from tempest import config
from tempest.lib import exceptions as lib_exc

CONF = config.CONF


def wait_until(read, is_done, goal):
    """Poll until the answer is good, and return the answer.

    :param read: function without arguments
    :param is_done: predicate of the answer
    :param goal: phrase for the error, such as "the group is held"
    :raises: TimeoutException with the last answer
    """
    deadline = time.monotonic() + CONF.vrt.build_timeout
    while not is_done(answer := read()):
        if time.monotonic() > deadline:
            raise lib_exc.TimeoutException(
                f'Timeout after {CONF.vrt.build_timeout} s of waiting until '
                f'{goal}; last seen: {answer}'
            )
        time.sleep(CONF.vrt.build_interval)
    return answer


def wait_for_group(client, group_id, is_done, goal):
    """Return a group once a predicate of it is true."""
    return wait_until(
        lambda: client.show_group(group_id)['vrt_group'], is_done, goal
    )


def wait_for_decision(client, group_id):
    """Return a group once the planner has decided it and its revision."""
    return wait_for_group(
        client,
        group_id,
        lambda group: (
            'PLANNING' not in (group['status'], _revision_status(group))
        ),
        f'planning of group {group_id} has ended',
    )


def wait_for_status(client, group_id, status):
    """Return a group once it has a status."""
    return wait_for_group(
        client,
        group_id,
        lambda group: group['status'] == status,
        f'group {group_id} is {status}',
    )


def wait_for_members(client, group_id, statuses):
    """Return a group once its members have these statuses.

    :param statuses: mapping of path to status
    """
    return wait_for_group(
        client,
        group_id,
        lambda group: statuses.items() <= member_statuses(group).items(),
        f'members of group {group_id} are {statuses}',
    )


def member_statuses(group):
    """Return the status of each member by its path."""
    return {member['path']: member['status'] for member in group['members']}


def _revision_status(group):
    return group['revision'] and group['revision']['status']
