# SPDX-License-Identifier: Apache-2.0
"""Do our tables say what Placement says?

An audit only reads. The cloud goes on meanwhile, so whatever looks wrong in
Placement is asked about once more, and the rows are read again after that:
what was merely under way is no finding. Groups that a planner works on at
the moment are left alone.
"""

import collections
import contextlib
import dataclasses
import datetime
import enum

from nova_groupext import exception
from nova_groupext.conf import CONF
from nova_groupext.db import api as db
from nova_groupext.objects import states
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.hold import VRTHold
from nova_groupext.objects.lease import VRTLease
from nova_groupext.objects.member import VRTMember
from nova_groupext.scheduler import verification
from nova_groupext.scheduler.hold import emptying
from nova_groupext.scheduler.look import servers
from nova_groupext.scheduler.protocol import redeem


class Kind(enum.StrEnum):
    """What is wrong."""

    # A hold owns nothing in Placement, or something else than its row says.
    MISSING = 'missing'
    DIFFERENT = 'different'
    # A hold that has ended, and owns something again.
    STRAY = 'stray'
    # An allocation of our types that no row knows of, or has known of lately:
    # it may be another installation's on the same Placement.
    ORPHAN = 'orphan'
    # What the reaper should have ended long ago.
    OVERDUE = 'overdue'
    # A member's server owns nothing in Placement.
    EMPTY_SERVER = 'empty-server'
    # Nova knows nothing of a member's server, which has the capacity.
    UNKNOWN_SERVER = 'unknown-server'
    # More of a provider is used than there is, and a hold has to give way.
    OVERCOMMITTED = 'overcommitted'
    # The rows of a member and of its holds contradict each other.
    CONTRADICTION = 'contradiction'
    # Placement or a cell did not answer: nothing is known, or touched.
    UNKNOWN = 'unknown'


HAS_ENDED = 'a hold that has ended, and is back'
IS_UNKNOWN = 'a hold that our tables know nothing of'


@dataclasses.dataclass(frozen=True)
class Finding:
    """One thing that is wrong; equal to another one about the same thing."""

    kind: Kind
    text: str = dataclasses.field(compare=False)
    group: str | None = None
    member: str | None = None
    # In Placement: a hold's uuid, a server's, or a stranger's.
    consumer: str | None = None
    provider: str | None = None


def audit(context, ledger):
    """Return what is wrong, as [Finding].

    :param ledger: ledger.Ledger
    :raises: PlacementUnavailable when it does not answer at all
    """
    auditor = _Auditor(context, ledger)
    auditor.run()
    return auditor.findings()


def strays(context, ledger):
    """Return the strays and orphans, as [Finding]."""
    auditor = _Auditor(context, ledger)
    auditor.find_strays()
    kinds = (Kind.STRAY, Kind.ORPHAN)
    return [each for each in auditor.findings() if each.kind in kinds]


class _Auditor:
    """One reading of all holds, compared with what is in Placement."""

    def __init__(self, context, ledger):
        self._context = context
        self._ledger = ledger
        self._found = []
        self._busy = VRTLease.busy_groups(context)
        self._groups = VRTGroup.uuids(context)
        self._holds = VRTHold.list_by_status(context, *states.LIVING)
        self._members = {
            member.id: member
            for member in VRTMember.list_by_ids(
                context,
                {_owner(hold) for hold in self._holds if not hold.is_filler},
            )
        }
        # {provider: {consumer: {class: amount}}}, as far as it was read.
        self._used = {}

    def run(self):
        # First of all: when Placement is down, there is no audit.
        total = self._ledger.total(self._context)
        self._compare_rows()
        self._find_overdue()
        held_on = {p for hold in self._holds for p in hold.allocations}
        for provider in sorted(held_on):
            self._read(provider)
            self._find_overcommitted(provider)
        self._compare_holds()
        self._compare_servers()
        # In a clean cloud the holds are all there is of ours.
        if self._sum() != total:
            self.find_strays()

    def findings(self):
        # Of what belongs to no group nobody is at work on it.
        busy = {
            self._groups[each] for each in self._busy & self._groups.keys()
        }
        # A provider that does not answer was perhaps asked twice.
        found = dict.fromkeys(self._found)
        return [each for each in found if each.group not in busy]

    # -- our tables --------------------------------------------------------

    def _compare_rows(self):
        """Find members without a hold, and holds that are nobody's."""
        for member, holds in VRTMember.list_promises(self._context):
            fitting = [
                hold
                for hold in holds
                if (member.status, hold.status) in states.PROMISES
            ]
            if not holds:
                text = f'the member is {member.status} and has no hold'
                self._add(Kind.CONTRADICTION, text, member=member)
            # The member goes by the first one.
            for hold in holds:
                if hold not in fitting[:1]:
                    text = f'{hold.status}, and not what its member goes by'
                    self._add(Kind.CONTRADICTION, text, hold)

    def _find_overdue(self):
        """Find what the reaper should have ended two rounds ago."""
        rounds = 2 * CONF.vrt.reap_interval
        seconds = emptying.REQUEST_LIFETIME + rounds
        before = db.time(self._context) - datetime.timedelta(seconds=seconds)
        for hold in VRTHold.list_unfinished(self._context, before):
            self._add(Kind.OVERDUE, "written down, and nobody's since", hold)
        for hold in self._holds:
            since = hold.updated_at or hold.created_at
            if hold.status == states.Hold.RELEASING and since < before:
                text = f'given up at {since}, and still there'
                self._add(Kind.OVERDUE, text, hold)
        seconds = redeem.OVERDUE * CONF.rpc_response_timeout + rounds
        for growth in VRTHold.list_growths_redeeming(self._context, seconds):
            text = f'the resize of server {growth.server_uuid} did not end'
            self._add(Kind.OVERDUE, text, growth)
        for member in VRTMember.list_stuck(self._context, seconds):
            text = f'the create of server {member.server_uuid} did not end'
            self._add(Kind.OVERDUE, text, member=member)

    # -- Placement ---------------------------------------------------------

    def _read(self, provider):
        with self._asking(provider=provider):
            used = self._ledger.used(self._context, provider)
            self._used[provider] = used or {}

    def _find_overcommitted(self, provider):
        used = self._used.get(provider, {})
        holds = [hold for hold in self._holds if hold.uuid in used]
        if not holds:
            return
        with self._asking(provider=provider):
            lost = verification.losers_on(
                self._context, self._ledger, provider, used
            )
            for hold in holds:
                if hold.uuid in lost:
                    text = f'more of {hold.host} is used than there is'
                    self._add(Kind.OVERCOMMITTED, text, hold)

    def _compare_holds(self):
        """Find holds that own something else than their rows say."""
        for hold in self._holds:
            if hold.status == states.Hold.HELD and not self._owns_all(hold):
                with self._asking(hold):
                    self._compare_again(hold)

    def _owns_all(self, hold):
        """Tell whether nothing was read that contradicts a hold's row."""
        return all(
            self._used[provider].get(hold.uuid) == part['resources']
            for provider, part in hold.allocations.items()
            if provider in self._used
        )

    def _compare_again(self, hold):
        owned = self._ledger.allocations(self._context, hold.uuid)
        if owned == hold.allocations:
            return
        if not self._is_still(hold, states.Member.HELD):
            return
        if owned:
            text = f'owns something else in Placement: {owned}'
            self._add(Kind.DIFFERENT, text, hold)
        else:
            text = f'owns nothing in Placement; its host is {hold.host}'
            self._add(Kind.MISSING, text, hold)

    def _is_still(self, hold, *member_statuses):
        """Tell whether a hold and its member are what they were.

        While a member's server is being created, its hold may be redeemed in
        Placement and not in the row: that is for the reaper to find out.
        """
        rows = VRTHold.list_by_uuids(self._context, [hold.uuid])
        if [row.status for row in rows] != [hold.status]:
            return False
        if hold.is_filler or hold.is_growth:
            return True
        member = VRTMember.find_by_id(self._context, hold.member_id)
        return member is not None and member.status in member_statuses

    def _compare_servers(self):
        """Find servers of members that own nothing, or that Nova forgot."""
        hold_of = {
            self._members[hold.member_id].server_uuid: hold
            for hold in self._holds
            if hold.status == states.Hold.REDEEMED and not hold.is_growth
        }
        found = servers.read(self._context, [*hold_of])
        for uuid, hold in hold_of.items():
            server = found.get(uuid)
            if not self._is_server_there(hold):
                with self._asking(hold):
                    self._compare_server_again(uuid, hold, server)
            elif server and server.fate == servers.Fate.UNKNOWN_TO_NOVA:
                self._find_unknown_server(uuid, hold)

    def _find_unknown_server(self, uuid, hold):
        """It is no finding until all who may be at work on it are done."""
        rounds = 2 * CONF.vrt.reap_interval
        seconds = emptying.REQUEST_LIFETIME + rounds
        member = self._members[hold.member_id]
        if member.is_unchanged_for(self._context, seconds):
            text = 'a server that Nova knows nothing of has the capacity'
            self._add(Kind.UNKNOWN_SERVER, text, hold, consumer=uuid)

    def _is_server_there(self, hold):
        server = self._members[hold.member_id].server_uuid
        return any(
            server in self._used.get(provider, {server: {}})
            for provider in hold.allocations
        )

    def _compare_server_again(self, uuid, hold, server):
        # It owns something elsewhere when it has moved.
        if self._ledger.allocations(self._context, uuid):
            return
        if not self._is_still(
            hold, states.Member.ACTIVE, states.Member.FAILED
        ):
            return
        if server is None:
            text = f'the cell of server {uuid} does not answer'
            self._add(Kind.UNKNOWN, text, hold, consumer=uuid)
        else:
            fate = server.fate.value
            text = f'the server owns nothing in Placement; it is {fate}'
            self._add(Kind.EMPTY_SERVER, text, hold, consumer=uuid)

    def _sum(self):
        """Return what the holds own where it was read; see Ledger.total."""
        ours = {hold.uuid for hold in self._holds}
        owners, total = set(), collections.Counter()
        for used in self._used.values():
            for consumer in used.keys() & ours:
                owners.add(consumer)
                total.update(used[consumer])
        return len(owners), dict(total)

    def find_strays(self):
        """Look on every provider for allocations that no row knows of."""
        with self._asking():
            for provider in self._ledger.providers(self._context):
                if provider not in self._used:
                    self._read(provider)
        found_on = {
            consumer: provider
            for provider, used in self._used.items()
            for consumer in used
        }
        # A hold's row is there before its allocation and goes after it, so
        # the rows are read after Placement.
        for hold in VRTHold.list_by_status(self._context, *states.LIVING):
            found_on.pop(hold.uuid, None)
        suspects = sorted(found_on)
        known = servers.mapped(self._context, suspects)
        for consumer in (each for each in suspects if each not in known):
            with self._asking(consumer=consumer):
                if self._ledger.is_hold(self._context, consumer):
                    has_ended = VRTHold.has_ended(self._context, consumer)
                    self._add(
                        Kind.STRAY if has_ended else Kind.ORPHAN,
                        HAS_ENDED if has_ended else IS_UNKNOWN,
                        consumer=consumer,
                        provider=found_on[consumer],
                    )

    # -- findings ----------------------------------------------------------

    @contextlib.contextmanager
    def _asking(self, hold=None, **about):
        """Note it when Placement does not answer, and go on."""
        try:
            yield
        except exception.PlacementUnavailable as exc:
            self._add(Kind.UNKNOWN, exc.format_message(), hold, **about)

    def _add(self, kind, text, hold=None, member=None, **about):
        if hold is not None:
            about = {
                'consumer': hold.uuid,
                'provider': hold.provider_uuid,
                **about,
            }
            member = self._members.get(_owner(hold))
        if member is not None:
            about['group'] = self._groups.get(member.group_id)
            about['member'] = member.path
        self._found.append(Finding(kind, text, **about))


def _owner(hold):
    """Return the id of the member that a hold is for; None for fillers."""
    return hold.grows_id if hold.is_growth else hold.member_id
