# SPDX-License-Identifier: Apache-2.0
"""Trouble with a part of the cloud, which is not to stop work on the rest."""

import contextlib

from oslo_log import log as logging

from nova_groupext import exception
from nova_groupext.db import errors as db_errors

LOG = logging.getLogger(__name__)


@contextlib.contextmanager
def passed_over(part):
    """Leave a part for the next round when nothing is known of it now.

    That is when Placement, or the database of its cell, does not answer, or
    another planner has taken it over, and perhaps forgotten it.

    :param part: its name for the log
    """
    try:
        yield
    except (
        exception.PlacementUnavailable,
        exception.GroupBusy,
        exception.GroupNotFound,
        *db_errors.ANY,
    ) as exc:
        LOG.warning('%s is left for the next round: %s', part, exc)
