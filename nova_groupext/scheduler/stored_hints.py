# SPDX-License-Identifier: Apache-2.0
"""The hints that Nova has stored of a server: its moves read them there.

A server that was adopted has none of ours, and one that left its group has
too many. Which member a server is the rows tell, so hints that are wrong for
a moment let a server move like any other; they never stop it.
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
    """Let a server's hints point to the member that it is, or to none.

    :returns: whether Nova has hints of it that point to a member
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
    """Change the hints of one server, alone with Nova's row of it.

    The row is locked before it is read, and before the wish is: so nothing
    that Nova stores there is lost, and of two changes the later one is right.
    A server of which Nova has stored nothing is left alone.

    :param wanted: returns a pointer.Pointer or None; called without arguments
    :returns: where the hints point to now, None if to no member
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
    """Return the hints of a spec with ours as they are to be."""
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
