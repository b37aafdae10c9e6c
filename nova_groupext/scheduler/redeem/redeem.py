# SPDX-License-Identifier: Apache-2.0
"""The redeem door: from a hold to the server's own allocation.

Only a first boot with our hints gets here. Every refusal is a NoValidHost
with its reason and leaves the hold as it was.
"""

import contextlib
import time

from nova import exception as nova_exc
from oslo_db import exception as db_exc
from oslo_log import log as logging

from nova_groupext import exception
from nova_groupext import faultpoints
from nova_groupext.objects import states
from nova_groupext.objects.hold import VRTHold
from nova_groupext.objects.member import VRTMember
from nova_groupext.scheduler.hold import holding
from nova_groupext.scheduler.hold import ownership
from nova_groupext.scheduler.look import requests
from nova_groupext.scheduler.redeem import reserving

LOG = logging.getLogger(__name__)

# How often, and after how many seconds, one looks what a fence has come to.
PATIENCE, PAUSE = 20, 0.25

LEAVING = states.Hold.LEAVING

NO_ANSWER = 'Placement did not answer; it is held again'
FENCED = 'its hold was fenced while it was swapped'
NOT_SWAPPED = 'Placement did not pass on what is held'

# What becomes of a member whose create is concluded.
ACTIVE = {'status': states.Member.ACTIVE}
GONE = {'status': states.Member.FAILED, 'fault': reserving.HOLD_IS_GONE}


class HostsRefused(Exception):
    """Nova's filters refuse the planned hosts of some members.

    :ivar places: their Places
    """

    def __init__(self, places):
        super().__init__(*(place.member.path for place in places))
        self.places = places


class RedeemDoor:
    """Redeems members for the servers of one request, and no other.

    :ivar ledger: ledger.Ledger
    :param host_manager: Nova's HostManager
    """

    def __init__(self, ledger, host_manager):
        self.ledger = ledger
        self._host_manager = host_manager
        # What the request asks Placement for; Nova's filters change a spec,
        # so they run on it once.
        self._asked = None

    def enter(self, context, pointed, spec, server_uuids, refused):
        """Reserve a member for each server, all or none.

        The servers' uuids are written before anything else happens. A request
        that is delivered twice finds its own uuids there and goes on.

        :param pointed: pointer.Pointer to one member, or to several of which
            any free ones will do
        :param refused: ids of members whose hosts Nova refuses
        :returns: [Place], in the order of the servers
        :raises: nova.exception.NoValidHost, reserving.TooFewPass
        """

        def read():
            members = self._members(context, pointed, spec)
            return self._described(context, members, spec)

        return reserving.reserve(
            context, self.ledger, pointed.member, read, server_uuids, refused
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
            is_done = self.ledger.swap(
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
        _uuid, member, hold = place
        return close(context, self.ledger, member, hold) or prevails(
            context, self.ledger, member
        )

    def turn_back(self, context, places):
        """The servers did not get the capacity, as far as this request saw.

        Where only some of them did, these give it back: no server of the
        request will be built.

        :returns: whether another delivery of the same request has got it
        :raises: nova.exception.NoValidHost when there is nothing to get
        """
        are_done = [
            conclude(context, self.ledger, place.member, place.hold)
            for place in places
        ]
        if not all(are_done):
            for place, is_done in zip(places, are_done, strict=True):
                if is_done:
                    take_back(context, self.ledger, place)
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


def close(context, ledger, member, hold):
    """The capacity is the server's: remember it.

    :returns: False when somebody else has found out what becomes of the hold
    """
    with faultpoints.around('redeem.close'):
        return ownership.change(
            context, ledger, hold, states.Hold.REDEEMED, member, ACTIVE
        )


def prevails(context, ledger, member):
    """A swap succeeded whose hold another has concluded meanwhile.

    Placement compares the generation of a consumer that is emptied before it
    reads what is to be emptied. Who moves a hold between the two has moved
    it, and the swap is accepted all the same. So the rows decide.

    :param member: VRTMember as it was when its hold was swapped
    :returns: whether the member has become the server; if not, what was taken
        is given back
    """
    for _attempt in range(PATIENCE):
        fresh = VRTMember.find_by_id(context, member.id)
        if fresh is None or fresh.server_uuid != member.server_uuid:
            ledger.empty_consumer(context, member.server_uuid)
            return False
        if fresh.status == states.Member.ACTIVE:
            break
        time.sleep(PAUSE)
    return True


def conclude(context, ledger, member, hold, before=None):
    """Find out whether a redeem took place, and let the rows say so.

    First the hold moves to a new uuid, so that no swap under way can succeed
    later. Where it cannot be moved, the server's allocation tells.

    :param ledger: ledger.Ledger
    :param member: VRTMember in state REDEEMING
    :param before: when another who does the same must have begun to be dead
    :returns: whether the capacity is the server's
    :raises: PlacementUnavailable; the reaper asks again
    """
    if not hold.claim(context, before):
        return ledger.has_swapped(context, hold, member.server_uuid)
    heir = _move(context, ledger, hold)
    if heir and ledger.has_swapped(context, hold, member.server_uuid):
        # Both were accepted, see prevails(): the server keeps it.
        holding.undo(context, [heir], ledger)
        close(context, ledger, member, hold)
        return True
    if heir is None:
        # Its server has it, or one who has moved it before and died.
        if ledger.has_swapped(context, hold, member.server_uuid):
            close(context, ledger, member, hold)
            return True
        heir = ownership.left_behind(context, ledger, hold)
    if heir is None:
        ownership.change(context, ledger, hold, LEAVING, member, GONE)
        return False
    with faultpoints.around('move.commit'):
        ownership.change(
            context, ledger, hold, LEAVING, member, ownership.HELD_AGAIN, heir
        )
    return False


def take_back(context, ledger, place):
    """Hold again what a server has redeemed that will not be built.

    Whoever dies here leaves it to the server, for the reaper to find.

    :param place: reserving.Place
    """
    member = VRTMember.find_by_id(context, place.member.id)
    hold = VRTHold.get_by_member(context, place.member.id)
    if hold is None or member.server_uuid != place.server_uuid:
        return
    heir = hold.again()
    with faultpoints.around('move.write_down'):
        heir.create(context)
    if not ledger.take_back(context, place.server_uuid, heir):
        VRTHold.retire(context, [heir], is_answered=True)
        return
    with faultpoints.around('move.commit'):
        is_held = ownership.change(
            context, ledger, hold, LEAVING, member, ownership.HELD_AGAIN, heir
        )
    if not is_held:
        holding.undo(context, [heir], ledger)


def _move(context, ledger, hold):
    """Move a claimed hold to a new uuid.

    :returns: the new VRTHold, or None when the old one holds nothing
    """
    heir = hold.again()
    with faultpoints.around('move.write_down'):
        heir.create(context)
    if ledger.move(context, hold, heir):
        return heir
    VRTHold.retire(context, [heir], is_answered=True)
    return None


@contextlib.contextmanager
def explained(member_path):
    """Turn trouble of ours into a NoValidHost that says what happened."""
    try:
        yield
    except db_exc.DBError as exc:
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
