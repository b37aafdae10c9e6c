# SPDX-License-Identifier: Apache-2.0
"""First plan of a group, which has no holds and no servers yet.

A group that is to be held gets rows and filled consumers for its members, and
placeholders for what its exclusive hosts have left.
"""

import datetime
import functools

from oslo_log import log as logging

from nova_groupext import exception
from nova_groupext import faultpoints
from nova_groupext import quota
from nova_groupext.db import api as db
from nova_groupext.objects import transitions
from nova_groupext.scheduler.decide import decisions
from nova_groupext.scheduler.decide import results
from nova_groupext.scheduler.decide import strategy
from nova_groupext.scheduler.protocol import exclusive_hosts
from nova_groupext.scheduler.protocol import hold_plan

LOG = logging.getLogger(__name__)


def _begin(work):
    """Check the quota, also if nothing is to be held.

    An answer reveals how much capacity is free, and may not do so beyond the
    quota.

    :raises: LimitExceeded
    """
    with work.deadline.paused():
        quota.check_or_wait(
            work.context, work.group.project_id, work.group.members
        )
    return True


def _look(work, tools, excluded):
    return strategy.Situation(
        work.group,
        tools.look_for(work, excluded),
    )


def _questions(_work, situation):
    return [strategy.Question(situation.snapshot.problem)]


def _commit(work, tools, _situation, decision):
    """Hold the plan; return False when the capacity was taken meanwhile.

    :raises: LimitExceeded when the tenant's quota is too small
    """
    try:
        _hold(work, tools.placement_client, decision.plan)
    except exception.HoldFailed as exc:
        LOG.info(
            'VRT group %(group)s is not held; it is decided again: %(why)s',
            {'group': work.group.uuid, 'why': exc},
        )
        return False
    results.report(work)
    return True


def _hold(work, placement_client, plan):
    """Insert the holds of a plan, fill them, and put them in force."""
    placeholder_holds = exclusive_hosts.placeholders_for(
        work.context, placement_client, work.group, plan
    )
    with work.deadline.paused():
        rows = quota.with_project_lock(
            work.context,
            work.group.project_id,
            functools.partial(_insert, work, plan, placeholder_holds),
        )
    hold_plan.hold(
        *(work.context, placement_client, work.lease, rows),
        work.deadline.check,
    )
    _put_in_force(work, placement_client, rows)


def _insert(work, plan, placeholder_holds):
    """Insert new holds, if the tenant's quota covers them."""
    placed = [
        member
        for member in work.group.members
        if member.path in plan.placements
    ]
    quota.check_or_wait(work.context, work.group.project_id, placed)
    return hold_plan.insert_plan(
        *(work.context, work.lease, placed, plan.placements),
        placeholder_holds,
    )


def _put_in_force(work, placement_client, rows):
    """Commit the filled holds, the members and the group together."""
    expires_at = db.time(work.context) + datetime.timedelta(
        seconds=work.group.expires_in
    )
    try:
        exclusive_hosts.refuse_foreign_consumers(
            work.context, placement_client, work.group, rows
        )
        with faultpoints.around('hold.commit'):
            transitions.hold_group(
                work.context, work.lease, work.group, rows, expires_at
            )
    except exception.VRTException:
        hold_plan.release_pending(work.context, placement_client, rows)
        raise


#: Strategy for a group that is PLANNING. It rejects no plan: the solver's
#: plans respect all policies.
STRATEGY = strategy.Strategy(
    begin=_begin,
    look=_look,
    questions=_questions,
    commit=_commit,
    kept_answer=decisions.kept_answer,
)
