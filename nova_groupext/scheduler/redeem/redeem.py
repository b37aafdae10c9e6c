# SPDX-License-Identifier: Apache-2.0
"""The redeem door: from a hold to the server's own allocation.

Only a first boot with our hints gets here. Every refusal is a NoValidHost
with its reason and leaves the hold as it was.
"""

import contextlib

from nova import exception as nova_exc
from oslo_log import log as logging

from nova_groupext import exception
from nova_groupext.db import errors as db_errors
from nova_groupext.objects import states
from nova_groupext.objects.member import VRTMember
from nova_groupext.scheduler.look import judging
from nova_groupext.scheduler.look import requests
from nova_groupext.scheduler.redeem import concluding
from nova_groupext.scheduler.redeem import reserving

LOG = logging.getLogger(__name__)

NO_ANSWER = 'Placement did not answer; it is held again'
FENCED = 'its hold was fenced while it was swapped'
NOT_SWAPPED = 'Placement did not pass on what is held'


class RedeemDoor:
    """Redeems members for the servers of one request, and no other.

    :param ledger: ledger.Ledger
    :param host_manager: Nova's HostManager
    """

    def __init__(self, ledger, host_manager):
        self._ledger = ledger
        self._host_manager = host_manager
        # What the request asks Placement for; Nova's filters change a spec,
        # so they run on it once.
        self._asked = None
        self._judge = None

    def enter(self, context, pointed, spec, server_uuids, refused):
        """Reserve a member for each server, all or none.

        The servers' uuids are written before anything else happens. A request
        that is delivered twice finds its own uuids there and goes on.

        :param pointed: pointer.Pointer to one member, or to several of which
            any free ones will do
        :param refused: ids of members whose hosts Nova refuses
        :returns: [Place], in the order of the servers
        :raises: nova.exception.NoValidHost, reserving.TooFewPass,
            reserving.HostsRefused
        """

        def read():
            members = self._members(context, pointed, spec)
            return self._described(context, members, spec)

        if self._judge is None:
            self._judge = judging.RedeemJudge(context, pointed.group)
        return reserving.reserve(
            context,
            self._ledger,
            pointed.member,
            read,
            server_uuids,
            self._judge,
            refused,
        )

    def swap(self, context, spec, places):
        """Swap the places' holds for servers' allocations, all or none.

        :raises: nova.exception.NoValidHost
        """
        held = [p for p in places if p.hold.status != states.Hold.REDEEMED]
        if not held:
            return
        path = held[0].member.path
        try:
            is_done = self._ledger.swap(
                context,
                {place.server_uuid: place.hold for place in held},
                spec.project_id,
                spec.user_id,
            )
        except exception.PlacementUnavailable as exc:
            raise reserving.refusal(path, NO_ANSWER) from exc
        if not is_done:
            raise reserving.refusal(path, NOT_SWAPPED)
        fenced = [p for p in held if not self._settle(context, p)]
        if fenced:
            raise reserving.refusal(fenced[0].member.path, FENCED)

    def _settle(self, context, place):
        """Write down that the capacity is a server's, and see if it stays so.

        It is, whether that can be written down now or not: what cannot, the
        reaper finds out.
        """
        _uuid, member, hold = place
        try:
            is_closed = concluding.close(context, self._ledger, member, hold)
        except db_errors.ANY:
            LOG.exception(
                'Member %s is redeemed; that is written down later.',
                member.path,
            )
            return True
        return is_closed or concluding.prevails(context, self._ledger, member)

    def turn_back(self, context, places):
        """The servers did not get the capacity, as far as this request saw.

        Where only some of them did, these give it back: no server of the
        request will be built.

        :returns: whether another delivery of the same request has got it
        :raises: nova.exception.NoValidHost when there is nothing to get
        """
        are_done = [
            concluding.conclude(
                context, self._ledger, place.member, place.hold
            )
            for place in places
        ]
        if not all(are_done):
            for place, is_done in zip(places, are_done, strict=True):
                if is_done:
                    concluding.take_back(
                        context,
                        self._ledger,
                        place.member.id,
                        place.server_uuid,
                    )
        for place in places:
            if place.member.status == states.Member.FAILED:
                raise reserving.refusal(
                    place.member.path, reserving.HOLD_IS_GONE
                )
        return all(are_done)

    @staticmethod
    def _members(context, pointed, spec):
        if not pointed.is_complete:
            raise nova_exc.NoValidHost(
                reason='the hints vrt_group and vrt_member belong together'
            )
        try:
            return VRTMember.list_by_path(
                context,
                pointed.group,
                pointed.member,
                project_id=spec.project_id,
            )
        except exception.MemberNotFound as exc:
            raise nova_exc.NoValidHost(reason=exc.format_message()) from exc

    def _described(self, context, members, spec):
        """Return those members that the server was described for.

        :raises: nova.exception.NoValidHost when there are none
        """
        errors = {}
        for member in members:
            if member.stem not in errors:
                errors[member.stem] = self._mismatch(context, member, spec)
        fitting = [m for m in members if errors[m.stem] is None]
        if not fitting:
            raise errors[members[0].stem]
        return fitting

    def _mismatch(self, context, member, spec):
        try:
            self._check_description(context, member, spec)
        except nova_exc.NoValidHost as exc:
            return exc
        return None

    def _check_description(self, context, member, spec):
        described = requests.placement_request(
            context,
            requests.spec_for(context, member, spec.project_id, spec.user_id),
            self._host_manager,
        )
        if self._asked is None:
            self._asked = requests.placement_request(
                context, spec, self._host_manager
            )
        if (
            requests.needs_more_than_amounts(spec)
            or not requests.boots_from_the_same(member, spec)
            or not requests.asks_for_the_same(described, self._asked)
        ):
            raise reserving.refusal(
                member.path,
                'the server asks for other resources than described',
            )


@contextlib.contextmanager
def explained(member_path):
    """Turn trouble of ours into a NoValidHost that says what happened."""
    try:
        yield
    except db_errors.ANY as exc:
        LOG.exception('VRT groups cannot be read.')
        raise nova_exc.NoValidHost(
            reason='VRT groups cannot be read at the moment; what is held '
            'stays held'
        ) from exc
    except exception.PlacementUnavailable as exc:
        LOG.exception('Placement did not answer about %s.', member_path)
        raise nova_exc.NoValidHost(
            reason=f'Placement did not answer about member {member_path}; '
            'nothing is lost, what became of its hold will be found out'
        ) from exc
