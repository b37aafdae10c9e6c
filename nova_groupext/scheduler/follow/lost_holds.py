# SPDX-License-Identifier: Apache-2.0
"""Restoration, or end, of holds whose capacity is no longer theirs."""

from oslo_log import log as logging

from nova_groupext import exception
from nova_groupext.objects import states
from nova_groupext.objects.group import VRTGroup
from nova_groupext.scheduler.current import policy_check
from nova_groupext.scheduler.protocol import hold_again
from nova_groupext.scheduler.protocol import ownership

LOG = logging.getLogger(__name__)

BREAKS_POLICY = 'it would violate a policy of its group'


def restore(context, placement_client, lease, hold, check):
    """Hold the capacity of a hold again, under a new uuid.

    :param check: as hold_again.hold_again() calls it
    :returns: False without capacity or quota, or if a policy forbids it
    """
    try:
        return hold_again.hold_again(
            context, placement_client, lease, hold, check
        )
    except (exception.LimitExceeded, exception.HoldFailed) as exc:
        LOG.info('Hold %s could not be restored and ends: %s', hold.uuid, exc)
        return False
    except exception.GenerationConflict:
        # Another process has ended the hold meanwhile.
        return True


def check_policies(context, member):
    """Check that policies allow a member on its host, with all others now.

    :raises: HoldFailed
    """
    state = VRTGroup.find_state(context, member.group_id)
    if policy_check.refused_members(context, [member], state):
        raise exception.HoldFailed(reason=BREAKS_POLICY)


def end(context, pairs, fault):
    """End holds that their members cannot keep; the members fail.

    :param pairs: [(VRTHold, its VRTMember in state HELD)]
    """
    values = {'status': states.Member.FAILED, 'fault': fault}
    for hold, member in pairs:
        ownership.end(context, hold, member, values)
