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

from nova_groupext import member_ref
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.member import VRTMember


def sync_hints(context, server_uuid):
    """Set a server's hints to the member that it is, or remove them.

    :returns: whether Nova has stored hints that refer to a member
    """

    def get_member_ref():
        members = VRTMember.list_by_servers(context, [server_uuid])
        if not members:
            return None
        group = VRTGroup.get_owner(context, members[0])
        return member_ref.MemberRef(group.uuid, members[0].path)

    return _set_hints(context, server_uuid, get_member_ref) is not None


@nova_api_db.context_manager.writer
def _set_hints(context, server_uuid, get_member_ref):
    """Update the hints of one server, with a lock on Nova's row.

    The lock comes before both reads. So no change by Nova is lost, and of two
    calls the later one decides. A server without a stored RequestSpec is
    skipped.

    :param get_member_ref: returns a MemberRef or None; called without
        arguments
    :returns: the MemberRef that is stored now, None if there is none
    """
    model = nova_api_models.RequestSpec
    lock = sa.update(model).where(model.instance_uuid == server_uuid)
    context.session.execute(lock.values(updated_at=timeutils.utcnow()))
    try:
        spec = objects.RequestSpec.get_by_instance_uuid(context, server_uuid)
    except nova_exc.RequestSpecNotFound:
        return None
    ref = get_member_ref()
    if member_ref.from_spec(spec) != ref:
        spec.scheduler_hints = _hints(spec, ref)
        spec.save()
    return ref


def _hints(spec, ref):
    """Return the hints of a spec with ours replaced."""
    others = {
        name: values
        for name, values in member_ref.get_hints(spec).items()
        if name not in (member_ref.GROUP_HINT, member_ref.MEMBER_HINT)
    }
    if ref is None:
        return others
    return {
        **others,
        member_ref.GROUP_HINT: [ref.group],
        member_ref.MEMBER_HINT: [ref.member],
    }
