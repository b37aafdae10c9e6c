# SPDX-License-Identifier: Apache-2.0
"""Redeem path of the scheduler: from a hold to the server's allocation.

Only a first boot with VRT hints gets here.

1. *choose*: each server gets a member of the hints whose description it
   matches, see reserve.py. If too few are held, planners place more, see
   create_request.py, and 1 begins again.
2. *select*: Nova's filters check the hosts of these members. If they refuse a
   host, 1 chooses another member; if too few members remain, a planner swaps
   their holds to other hosts, see replacement_request.py.
3. *reserve*, one transaction: the holds are REDEEMING and name the servers.
4. *transfer*, one request: the servers own the capacity.
5. *commit*, one transaction for each server: its hold is REDEEMED.

=============  =====================================  ========================
crash          left behind                            finished by
=============  =====================================  ========================
before 3       nothing of this request, perhaps       the reaper; a planner
               RELEASING holds                        finishes its swap
after 3        REDEEMING; the hold or the server      any delivery of the same
               owns the capacity                      request, or the reaper:
                                                      4, 5
after 4        REDEEMING; the server owns it          the same: 5
=============  =====================================  ========================

Steps 3 to 5 are those of protocol/redeem.py. Every refusal is a NoValidHost
with its reason. Before 3 it leaves the holds unchanged, except those that
overcommit their host, which end, and those that a planner has swapped; after 3
the redeem only goes forward.
"""

import contextlib
import functools
import random
import time

from nova import exception as nova_exc
from oslo_log import log as logging

from nova_groupext import exception
from nova_groupext.db import database_errors
from nova_groupext.membership import allowed
from nova_groupext.membership import creates
from nova_groupext.objects import states
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.member import VRTMember
from nova_groupext.scheduler.nova import servers
from nova_groupext.scheduler.protocol import redeem
from nova_groupext.scheduler.redeem import create_request
from nova_groupext.scheduler.redeem import description_match
from nova_groupext.scheduler.redeem import replacement_request
from nova_groupext.scheduler.redeem import reserve

LOG = logging.getLogger(__name__)

Outcome = redeem.Outcome

OUTCOME_UNKNOWN = (
    'Placement did not answer: the state of its hold is unknown and will be '
    'resolved; retry later'
)
OUTCOME_REFUSED = (
    'Placement refuses to transfer its hold to the server, which will be '
    'resolved; retry later'
)
# Reason of a request's refusal, by the Outcome of its server.
REASONS = {
    Outcome.LOST: redeem.IS_LOST,
    Outcome.REFUSED: OUTCOME_REFUSED,
    Outcome.UNKNOWN: OUTCOME_UNKNOWN,
}

# Seconds for which a request retries after conflicts, and the maximum pause
# before each retry.
TIME_LIMIT, MAX_PAUSE = 20, 0.1
# Number of times that planners are asked to place the servers of a request.
MAX_PLACEMENTS = 2

TOO_MANY_CONFLICTS = 'concurrent requests changed the members each time; retry'


class RedeemPath:
    """Redemption of members for the servers of one request.

    :param host_manager: Nova's HostManager
    """

    def __init__(self, placement_client, host_manager):
        self._placement_client = placement_client
        self._match = description_match.DescriptionMatch(host_manager)
        self._group_uuid = None
        # VRTCreate of members that were placed for the request
        self._create = None
        self._started_at = time.monotonic()
        # After a conflict members are chosen at random: concurrent requests
        # choose the first ones, too.
        self._had_conflict = False

    def run(self, context, ref, spec, server_uuids, select):
        """Redeem a member for each server, or for none, as Nova does.

        :param ref: member_ref.MemberRef of the hints
        :param select: function of [Choice] that asks Nova's filters; it raises
            reserve.HostsFiltered
        :returns: what ``select`` has returned for the members
        :raises: nova.exception.NoValidHost
        """
        try:
            return self._run(context, ref, spec, server_uuids, select)
        finally:
            self._end_create(context)

    def _run(self, context, ref, spec, server_uuids, select):
        replacement = replacement_request.ReplacementRequest(
            context, ref.group
        )
        refused, reason = {}, None
        placements = 0
        while True:
            try:
                choices = self.choose(
                    context, ref, spec, server_uuids, refused
                )
                selections = select(choices)
                self.redeem(context, spec, choices)
                return selections
            except reserve.TooFewHeld as exc:
                # Members that were placed for the servers may be lost again,
                # for instance by a revision.
                if placements == MAX_PLACEMENTS or not self.place(
                    context, ref, spec, server_uuids, exc.reason
                ):
                    raise exc.error from None
                placements += 1
            except reserve.MemberTaken:
                self.wait_after_conflict(ref.member)
            except reserve.HostsFiltered as exc:
                refused |= {each.member.id: each for each in exc.choices}
                reason = exc.reason
            except reserve.NotEnoughMembers as exc:
                choices = [refused[each] for each in exc.refused]
                replacement.send(
                    {each.member.path: each.hold.node for each in choices},
                    reason,
                )
                refused = {}

    def choose(self, context, ref, spec, server_uuids, refused):
        """Choose a member for each server.

        A request that is delivered twice finds the members of the first
        delivery and goes on with them.

        :param ref: member_ref.MemberRef to one member, or to several of which
            any free ones will do
        :param refused: ids of members whose hosts are refused
        :returns: [Choice], in the order of the servers
        :raises: nova.exception.NoValidHost, reserve.NotEnoughMembers
        """
        self._group_uuid = ref.group

        def read_members():
            members = self._members(context, ref, spec)
            return self._match.filter(context, members, spec)

        def choose(read):
            return reserve.choose(
                *(context, self._placement_client, ref.member, read),
                *(server_uuids, refused),
                at_random=self._had_conflict,
            )

        try:
            return choose(read_members)
        except reserve.TooFewHeld:
            # Successors have paths of their own.
            own = VRTMember.list_of_servers(context, ref.group, server_uuids)
            if len(own) != len(server_uuids):
                raise
            return choose(lambda: self._match.filter(context, own, spec))

    def wait_after_conflict(self, path):
        """Pause after a conflict with a concurrent request.

        :param path: common path of the members, for the error
        :raises: nova.exception.NoValidHost when the conflicts last too long
        """
        if time.monotonic() > self._started_at + TIME_LIMIT:
            raise reserve.refusal(path, TOO_MANY_CONFLICTS)
        self._had_conflict = True
        time.sleep(random.uniform(0, MAX_PAUSE))  # noqa: S311

    def redeem(self, context, spec, choices):
        """Transfer holds to their servers; see protocol.redeem.

        If one server gets nothing, the whole request fails; the reaper takes
        back what the others got once Nova has abandoned them.

        :raises: nova.exception.NoValidHost, reserve.HostsFiltered,
            reserve.MemberTaken
        """
        free = [c for c in choices if c.hold.status == states.Hold.HELD]
        if free and not self._reserve(context, free):
            raise reserve.MemberTaken
        redeeming = {
            choice.server_uuid: choice
            for choice in choices
            if choice.hold.status == states.Hold.REDEEMING
        }
        outcomes = redeeming and redeem.transfer(
            context,
            self._placement_client,
            {uuid: choice.hold for uuid, choice in redeeming.items()},
            spec.project_id,
            spec.user_id,
        )
        for uuid, outcome in outcomes.items():
            if outcome.is_final:
                _uuid, member, hold = redeeming[uuid]
                redeem.commit(context, member, hold, outcome, self._group_uuid)
        for uuid, outcome in outcomes.items():
            if outcome != Outcome.TRANSFERRED:
                raise reserve.refusal(
                    redeeming[uuid].member.path, REASONS[outcome]
                )

    @staticmethod
    def _reserve(context, choices):
        """Reserve the members; return False if they have to be read again."""
        try:
            return reserve.reserve(context, choices)
        except database_errors.OutcomeUnknown:
            # If they are reserved they will be found by their servers.
            LOG.warning('It is unknown whether members are reserved.')
            return False

    @staticmethod
    def _members(context, ref, spec):
        if not ref.is_complete:
            raise nova_exc.NoValidHost(
                reason='the scheduler hints require both vrt_group and '
                'vrt_member'
            )
        try:
            return VRTMember.list_by_path(
                context,
                ref.group,
                ref.member,
                project_id=spec.project_id,
            )
        except exception.MemberNotFound as exc:
            raise reserve.TooFewHeld(exc.format_message()) from exc

    def place(self, context, ref, spec, server_uuids, why):
        """Have planners place members for the servers, if the group may.

        :param why: reason why the servers cannot have held members
        :returns: False if its definition allows no more members now
        :raises: nova.exception.NoValidHost when they could not be placed
        """
        if self._create is not None:
            # Its members do not suit the servers any more.
            self._create.withdraw(context)
            self._create = None
        group = VRTGroup.find(context, ref.group)
        if (
            group is None
            or group.project_id != spec.project_id
            or group.status not in states.GROUP_REPLACEABLE
        ):
            return False

        def is_like(request):
            return self._match.difference(context, request, spec) is None

        matching = allowed.find_matching(group, ref.member, is_like)
        find_ending = functools.partial(servers.find_ending, context)
        try:
            allowed.choose(
                group, ref.member, matching, server_uuids, find_ending
            )
        except creates.Refused:
            return False
        self._create = create_request.place(
            context, group, ref.member, matching, server_uuids, why
        )
        return True

    def _end_create(self, context):
        """End the wait of members that were placed for the request."""
        if self._create is not None:
            self._create.remove(context)


@contextlib.contextmanager
def as_no_valid_host(member_path):
    """Turn database and Placement errors into a NoValidHost with a reason."""
    try:
        yield
    except database_errors.ANY as exc:
        LOG.exception(
            'The tables of VRT groups are not available; the server gets no '
            'host.'
        )
        raise nova_exc.NoValidHost(
            reason='the tables of VRT groups are not available; the members '
            'stay held, or are held again; retry later'
        ) from exc
    except exception.UnknownPolicyType as exc:
        raise nova_exc.NoValidHost(reason=exc) from exc
    except exception.PlacementUnavailable as exc:
        LOG.exception(
            'Placement did not answer about member %s; the server gets no '
            'host and the reaper resolves the hold.',
            member_path,
        )
        raise nova_exc.NoValidHost(
            reason='Placement did not answer: the state of the hold of '
            f'member {member_path} is unknown and will be resolved; retry '
            'later'
        ) from exc
