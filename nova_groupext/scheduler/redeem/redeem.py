# SPDX-License-Identifier: Apache-2.0
"""The redeem door: from a hold to the server's own allocation.

Only a first boot with our hints gets here. Every refusal is a NoValidHost
with its reason. One that comes before the servers' uuids are written leaves
the holds as they were; after that there is no way back.
"""

import contextlib
import random
import time

from nova import exception as nova_exc
from oslo_log import log as logging

from nova_groupext import exception
from nova_groupext.db import errors as db_errors
from nova_groupext.objects import states
from nova_groupext.objects.member import VRTMember
from nova_groupext.scheduler.look import judging
from nova_groupext.scheduler.look import requests
from nova_groupext.scheduler.protocol import redeem as protocol
from nova_groupext.scheduler.redeem import reserving

LOG = logging.getLogger(__name__)

Outcome = protocol.Outcome

IS_OPEN = (
    'Placement did not say what became of its hold; that will be found out'
)

# The door tries again for so many seconds while somebody else is faster, and
# waits for so many at most in between.
PATIENCE, PAUSE = 20, 0.1

OTHERS_ARE_FASTER = 'others were faster each time; try again'


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
        self._began = time.monotonic()
        # Whether others were faster, who have chosen the first ones as well.
        self._is_late = False

    def choose(self, context, pointed, spec, server_uuids, refused):
        """Choose a member for each server.

        A request that is delivered twice finds its own members and goes on
        with them.

        :param pointed: pointer.Pointer to one member, or to several of which
            any free ones will do
        :param refused: ids of members whose hosts are refused
        :returns: [Place], in the order of the servers
        :raises: nova.exception.NoValidHost, reserving.TooFewPass
        """

        def read():
            members = self._members(context, pointed, spec)
            return self._described(context, members, spec)

        if self._judge is None:
            self._judge = judging.RedeemJudge(context, pointed.group)
        return reserving.choose(
            *(context, self._ledger, pointed.member, read),
            *(server_uuids, refused),
            at_random=self._is_late,
        )

    def wait(self, path):
        """Let a moment pass, as somebody else was faster.

        :param path: what the members are called together
        :raises: nova.exception.NoValidHost when that goes on for too long
        """
        if time.monotonic() > self._began + PATIENCE:
            raise reserving.refusal(path, OTHERS_ARE_FASTER)
        self._is_late = True
        time.sleep(random.uniform(0, PAUSE))  # noqa: S311

    def redeem(self, context, spec, places):
        """Let servers have their places, all or none; see protocol.redeem.

        If one of them gets nothing, what the others have got is taken back
        when Nova has given up all of them.

        :raises: nova.exception.NoValidHost, reserving.HostsRefused,
            reserving.Taken
        """
        free = [p for p in places if p.hold.status == states.Hold.HELD]
        if free and not reserving.reserve(context, free, self._judge):
            raise reserving.Taken
        due = {
            place.server_uuid: place
            for place in places
            if place.hold.status == states.Hold.REDEEMING
        }
        outcomes = due and protocol.swap(
            context,
            self._ledger,
            {uuid: place.hold for uuid, place in due.items()},
            spec.project_id,
            spec.user_id,
        )
        for uuid, outcome in outcomes.items():
            if outcome != Outcome.OPEN:
                _uuid, member, hold = due[uuid]
                protocol.close(context, member, hold, outcome)
        for uuid, outcome in outcomes.items():
            if outcome != Outcome.SWAPPED:
                is_open = outcome == Outcome.OPEN
                raise reserving.refusal(
                    due[uuid].member.path,
                    IS_OPEN if is_open else protocol.IS_LOST,
                )

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
