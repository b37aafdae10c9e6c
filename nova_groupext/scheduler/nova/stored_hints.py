# SPDX-License-Identifier: Apache-2.0
"""Update of the scheduler hints that Nova stores for a server.

A move reads the stored hints. An adopted server has none of ours, and a server
that left its group has obsolete ones. Our rows decide which member a server
is. Wrong hints only let a server move as if it had no group; they never block
a move.
"""

from nova import exception as nova_exc
from nova import objects
from nova.db.api import api as nova_api_db
from nova.db.api import models as nova_api_models
from oslo_utils import timeutils
import sqlalchemy as sa

from nova_groupext import pointer
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.member import VRTMember


def follow(context, server_uuid):
    """Set a server's hints to the member that it is, or remove them.

    :returns: whether Nova has stored hints that refer to a member
    """

    def wanted():
        members = VRTMember.list_by_servers(context, [server_uuid])
        if not members:
            return None
        group = VRTGroup.get_owner(context, members[0])
        return pointer.Pointer(group.uuid, members[0].path)

    return _change(context, server_uuid, wanted) is not None


@nova_api_db.context_manager.writer
def _change(context, server_uuid, wanted):
    """Change the hints of one server, with a lock on Nova's row.

    The lock comes before both reads. So no change by Nova is lost, and of two
    calls the later one decides. A server without a stored RequestSpec is
    skipped.

    :param wanted: returns a pointer.Pointer or None; called without arguments
    :returns: the pointer.Pointer that is stored now, None if there is none
    """
    stored = nova_api_models.RequestSpec
    lock = sa.update(stored).where(stored.instance_uuid == server_uuid)
    context.session.execute(lock.values(updated_at=timeutils.utcnow()))
    try:
        spec = objects.RequestSpec.get_by_instance_uuid(context, server_uuid)
    except nova_exc.RequestSpecNotFound:
        return None
    pointed = wanted()
    if pointer.of(spec) != pointed:
        spec.scheduler_hints = _hints(spec, pointed)
        spec.save()
    return pointed


def _hints(spec, pointed):
    """Return the hints of a spec with ours replaced."""
    others = {
        name: values
        for name, values in pointer.hints_of(spec).items()
        if name not in (pointer.GROUP_HINT, pointer.MEMBER_HINT)
    }
    if pointed is None:
        return others
    return {
        **others,
        pointer.GROUP_HINT: [pointed.group],
        pointer.MEMBER_HINT: [pointed.member],
    }
