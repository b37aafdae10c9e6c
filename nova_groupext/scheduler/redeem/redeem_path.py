# SPDX-License-Identifier: Apache-2.0
"""Redeem path of the scheduler: from a hold to the server's allocation.

Only a first boot with VRT hints gets here. Every refusal is a NoValidHost with
its reason. A refusal before the servers' uuids are written leaves the holds
unchanged; after that the redeem can only go forward.
"""

import contextlib
import random
import time

from nova import exception as nova_exc
from oslo_log import log as logging

from nova_groupext import exception
from nova_groupext.db import database_errors
from nova_groupext.objects import states
from nova_groupext.objects.member import VRTMember
from nova_groupext.scheduler.current import policy_check
from nova_groupext.scheduler.nova import request_specs
from nova_groupext.scheduler.protocol import redeem
from nova_groupext.scheduler.redeem import reserve

LOG = logging.getLogger(__name__)

Outcome = redeem.Outcome

IS_OPEN = (
    'Placement did not say what became of its hold; that will be found out'
)

# Seconds for which a request retries after conflicts, and the longest pause
# before each retry.
PATIENCE, PAUSE = 20, 0.1

OTHERS_ARE_FASTER = 'others were faster each time; try again'


class RedeemPath:
    """Redemption of members for the servers of one request.

    :param ledger: PlacementClient
    :param host_manager: Nova's HostManager
    """

    def __init__(self, ledger, host_manager):
        self._ledger = ledger
        self._host_manager = host_manager
        # The request's Placement query. Nova's request filters change a spec,
        # so they run on it once.
        self._asked = None
        self._judge = None
        self._began = time.monotonic()
        # After a conflict members are chosen at random: concurrent requests
        # choose the first ones, too.
        self._is_late = False

    def choose(self, context, pointed, spec, server_uuids, refused):
        """Choose a member for each server.

        A request that is delivered twice finds the members of the first
        delivery and goes on with them.

        :param pointed: pointer.Pointer to one member, or to several of which
            any free ones will do
        :param refused: ids of members whose hosts are refused
        :returns: [Reservation], in the order of the servers
        :raises: nova.exception.NoValidHost, reserve.NotEnoughMembers
        """

        def read():
            members = self._members(context, pointed, spec)
            return self._described(context, members, spec)

        if self._judge is None:
            self._judge = policy_check.RedeemCheck(context, pointed.group)
        return reserve.choose(
            *(context, self._ledger, pointed.member, read),
            *(server_uuids, refused),
            at_random=self._is_late,
        )

    def wait(self, path):
        """Pause after a conflict with a concurrent request.

        :param path: common path of the members, for the error
        :raises: nova.exception.NoValidHost when the conflicts last too long
        """
        if time.monotonic() > self._began + PATIENCE:
            raise reserve.refusal(path, OTHERS_ARE_FASTER)
        self._is_late = True
        time.sleep(random.uniform(0, PAUSE))  # noqa: S311

    def redeem(self, context, spec, places):
        """Swap holds for the servers' allocations; see protocol.redeem.

        If one server gets nothing, the whole request fails; the reaper takes
        back what the others got once Nova has abandoned them.

        :raises: nova.exception.NoValidHost, reserve.HostsFiltered,
            reserve.Taken
        """
        free = [p for p in places if p.hold.status == states.Hold.HELD]
        if free and not reserve.reserve(context, free, self._judge):
            raise reserve.Taken
        due = {
            place.server_uuid: place
            for place in places
            if place.hold.status == states.Hold.REDEEMING
        }
        outcomes = due and redeem.swap(
            context,
            self._ledger,
            {uuid: place.hold for uuid, place in due.items()},
            spec.project_id,
            spec.user_id,
        )
        for uuid, outcome in outcomes.items():
            if outcome != Outcome.OPEN:
                _uuid, member, hold = due[uuid]
                redeem.close(context, member, hold, outcome)
        for uuid, outcome in outcomes.items():
            if outcome != Outcome.SWAPPED:
                is_open = outcome == Outcome.OPEN
                raise reserve.refusal(
                    due[uuid].member.path,
                    IS_OPEN if is_open else redeem.IS_LOST,
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
        """Return the members whose description the server matches.

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
        described = request_specs.placement_request(
            context,
            request_specs.spec_for(
                context, member, spec.project_id, spec.user_id
            ),
            self._host_manager,
        )
        if self._asked is None:
            self._asked = request_specs.placement_request(
                context, spec, self._host_manager
            )
        if (
            request_specs.needs_more_than_amounts(spec)
            or not request_specs.boots_from_the_same(member, spec)
            or not request_specs.asks_for_the_same(described, self._asked)
        ):
            raise reserve.refusal(
                member.path,
                'the server asks for other resources than described',
            )


@contextlib.contextmanager
def as_no_valid_host(member_path):
    """Turn database and Placement errors into a NoValidHost with a reason."""
    try:
        yield
    except database_errors.ANY as exc:
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
