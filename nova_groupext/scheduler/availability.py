# SPDX-License-Identifier: Apache-2.0
"""Isolation of errors in one part of the work from all the rest."""

import contextlib

from oslo_log import log as logging

from nova_groupext import exception
from nova_groupext.db import database_errors

LOG = logging.getLogger(__name__)


def run_step(work, *args, about='all groups'):
    """Run a step of periodic work; log an exception instead of raising it.

    :returns: whether it ended without an exception
    """
    try:
        work(*args)
    except Exception:
        LOG.exception(
            'Step %(work)s for %(about)s failed; it is retried in the next '
            'round.',
            {'work': work.__name__, 'about': about},
        )
        return False
    return True


def run_for(group, work, *args):
    """Run a step of periodic work that concerns one VRTGroup; see run_step."""
    return run_step(work, *args, about=f'VRT group {group.uuid}')


@contextlib.contextmanager
def isolate(part):
    """Skip a part until the next round, whatever goes wrong in it.

    :param part: its name for the log
    """
    try:
        with skip_unavailable(part):
            yield
    except Exception:
        LOG.exception('Skipping %s until the next round.', part)


@contextlib.contextmanager
def skip_unavailable(part):
    """Skip a part until the next round when its state is unknown.

    That is when Placement or a database does not answer, or when another
    planner has taken the group over or removed it.

    :param part: its name for the log
    """
    try:
        yield
    except (
        exception.PlacementUnavailable,
        exception.GroupBusy,
        exception.GroupNotFound,
        *database_errors.ANY,
    ) as exc:
        LOG.warning('Skipping %s until the next round: %s', part, exc)
