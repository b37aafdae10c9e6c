# SPDX-License-Identifier: Apache-2.0
"""The door for resizes: what is held for one becomes its server's.

Nova has put what the server has under the uuid of the migration by then, so
the server's own uuid is free for all of the new flavor. The hold is swapped
for that in one request, at the host where it is. Afterwards the resize is a
move like any other, and its end is followed as theirs are.
"""

import copy

from nova import exception as nova_exc
from oslo_log import log as logging

from nova_groupext.db import errors as db_errors
from nova_groupext.objects import transitions
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.hold import VRTHold
from nova_groupext.objects.member import VRTMember
from nova_groupext.scheduler.look import requests
from nova_groupext.scheduler.protocol import redeem as protocol

LOG = logging.getLogger(__name__)


NOT_KNOWN = (
    'Placement did not say what became of the room that is held for the '
    'resize; that will be found out'
)


class Refused(nova_exc.NoValidHost):
    """A resize that may not go anywhere else: its room may be its own yet."""


def find(context, spec, host_manager):
    """Return what is held for a resize, or None.

    Only if it is the resize that is described: another, or a move that keeps
    the flavor, goes where Nova finds room.

    :param spec: the RequestSpec of a server that moves
    :param host_manager: Nova's HostManager
    :returns: VRTHold
    """
    try:
        growth = VRTHold.get_growth(context, spec.instance_uuid)
        if growth is None:
            return None
        group = VRTGroup.brief(context, growth.group_id)
        member = VRTMember.find_by_id(context, growth.grows_id)
        if None in (group, member):
            # They were forgotten since the growth was read.
            return None
        if not group.has_expired and _is_wanted(
            context, member, spec, host_manager
        ):
            return growth
    except db_errors.ANY:
        LOG.exception(
            'Whether room is held for server %s is not known.',
            spec.instance_uuid,
        )
    return None


def _is_wanted(context, member, spec, host_manager):
    described = requests.spec_for(
        context, member, spec.project_id, spec.user_id
    )
    try:
        wanted, asked = (
            requests.placement_request(context, each, host_manager)
            # Nova's request filters change a spec, and it is needed as it is.
            for each in (described, copy.deepcopy(spec))
        )
    except nova_exc.NoValidHost:
        return False
    return requests.asks_for_the_same(wanted, asked)


def claim(context, ledger, growth, server_uuid, project_id, user_id):
    """Swap a growth for its server's allocation.

    :param ledger: ledger.Ledger
    :param growth: VRTHold
    :returns: whether the capacity is the server's; if not, the growth is as
        it was, or another's
    :raises: Refused
    """
    try:
        if not transitions.reserve_growth(context, growth, server_uuid):
            return False
    except db_errors.ANY as exc:
        LOG.exception('Whether growth %s is reserved is open.', growth.uuid)
        raise Refused(reason=NOT_KNOWN) from exc
    body = ledger.of_server(growth, project_id, user_id)
    outcome = protocol.swap_one(
        context, ledger, server_uuid, growth, body, refills=False
    )
    if outcome == protocol.Outcome.OPEN:
        # Whoever follows growths finds that out.
        raise Refused(reason=NOT_KNOWN)
    is_redeemed = outcome == protocol.Outcome.SWAPPED
    try:
        transitions.conclude_growth(context, growth, is_redeemed)
    except db_errors.ANY:
        LOG.exception('What became of growth %s is found out.', growth.uuid)
    if not is_redeemed:
        raise Refused(reason=protocol.IS_LOST)
    return True
