# SPDX-License-Identifier: Apache-2.0
"""Isolation of errors in one part of the cloud from work on the rest."""

import contextlib

from oslo_log import log as logging

from nova_groupext import exception
from nova_groupext.db import database_errors

LOG = logging.getLogger(__name__)


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
        LOG.warning('%s is left for the next round: %s', part, exc)
