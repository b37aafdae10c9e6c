# SPDX-License-Identifier: Apache-2.0
"""Audit: comparison of the tables with Placement.

An audit only reads. The cloud changes meanwhile, so differences are confirmed:
Placement is queried once more, and the rows are read again after that. Groups
that a planner works on are skipped.
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
from nova_groupext.scheduler.nova import servers
from nova_groupext.scheduler.placement import overcommitment
from nova_groupext.scheduler.protocol import redeem
from nova_groupext.scheduler.protocol import release_holds


class Kind(enum.StrEnum):
    """Kind of a finding."""

    # A hold owns nothing in Placement, or other resources than its row says.
    MISSING = 'missing'
    DIFFERENT = 'different'
    # A RELEASED hold that owns an allocation.
    STRAY = 'stray'
    # An allocation with VRT consumer type and without a row, not even that of
    # a released hold: another installation on the same Placement may own it.
    ORPHAN = 'orphan'
    # Work that the reaper should have finished long ago.
    OVERDUE = 'overdue'
    # A member's server owns nothing in Placement.
    EMPTY_SERVER = 'empty-server'
    # Nova does not know a member's server, which owns capacity.
    UNKNOWN_SERVER = 'unknown-server'
    # A provider is overcommitted, and a hold has to be released.
    OVERCOMMITTED = 'overcommitted'
    # The rows of a member and of its holds are inconsistent.
    CONTRADICTION = 'contradiction'
    # Placement or a cell did not answer: the state is unknown, no repair.
    UNKNOWN = 'unknown'


HAS_ENDED = 'a hold that has ended, and is back'
IS_UNKNOWN = 'a hold that our tables know nothing of'


@dataclasses.dataclass(frozen=True)
class Finding:
    """One difference; equal to another finding about the same objects."""

    kind: Kind
    text: str = dataclasses.field(compare=False)
    group: str | None = None
    member: str | None = None
    # Consumer in Placement: uuid of a hold, a server or a foreign one.
    consumer: str | None = None
    provider: str | None = None


def audit(context, ledger):
    """Return the differences, as [Finding].

    :param ledger: PlacementClient
    :raises: PlacementUnavailable when it does not answer at all
    """
    auditor = _Auditor(context, ledger)
    auditor.run()
    return auditor.findings()


def strays(context, ledger):
    """Return findings of allocations without a current row: [Finding]."""
    auditor = _Auditor(context, ledger)
    auditor.find_strays()
    kinds = (Kind.STRAY, Kind.ORPHAN)
    return [each for each in auditor.findings() if each.kind in kinds]


class _Auditor:
    """Comparison of one reading of all holds with Placement."""

    def __init__(self, context, ledger):
        self._context = context
        self._ledger = ledger
        self._found = []
        self._busy = VRTLease.leased_groups(context)
        self._groups = VRTGroup.uuids(context)
        self._holds = VRTHold.list_by_status(
            context, *states.HOLD_HAS_NOT_ENDED
        )
        self._members = {
            member.id: member
            for member in VRTMember.list_by_ids(
                context,
                {
                    hold.owner_id
                    for hold in self._holds
                    if not hold.is_placeholder
                },
            )
        }
        # {provider: {consumer: {class: amount}}} of providers read so far.
        self._used = {}

    def run(self):
        # First, so that an unavailable Placement ends the audit.
        total = self._ledger.total(self._context)
        self._compare_rows()
        self._find_overdue()
        held_on = {p for hold in self._holds for p in hold.allocations}
        for provider in sorted(held_on):
            self._read(provider)
            self._find_overcommitted(provider)
        self._compare_holds()
        self._compare_servers()
        # A scan of all providers is needed only if the totals differ.
        if self._sum() != total:
            self.find_strays()

    def findings(self):
        # Findings without a group are always reported.
        busy = {
            self._groups[each] for each in self._busy & self._groups.keys()
        }
        # A provider that does not answer may have been queried twice.
        found = dict.fromkeys(self._found)
        return [each for each in found if each.group not in busy]

    # -- our tables --------------------------------------------------------

    def _compare_rows(self):
        """Find members without a hold, and holds that fit no member."""
        for member, holds in VRTMember.list_promises(self._context):
            fitting = [
                hold
                for hold in holds
                if (member.status, hold.status) in states.VALID_STATE_PAIRS
            ]
            if not holds:
                text = f'the member is {member.status} and has no hold'
                self._add(Kind.CONTRADICTION, text, member=member)
            # The first hold that fits is the member's.
            for hold in holds:
                if hold not in fitting[:1]:
                    text = f'{hold.status}, and not what its member goes by'
                    self._add(Kind.CONTRADICTION, text, hold)

    def _find_overdue(self):
        """Find work that the reaper should have finished two rounds ago."""
        rounds = 2 * CONF.vrt.reap_interval
        seconds = release_holds.REQUEST_LIFETIME + rounds
        before = db.time(self._context) - datetime.timedelta(seconds=seconds)
        for hold in VRTHold.list_unfinished(self._context, before):
            self._add(Kind.OVERDUE, "written down, and nobody's since", hold)
        for hold in self._holds:
            since = hold.updated_at or hold.created_at
            if hold.status == states.Hold.RELEASING and since < before:
                text = f'given up at {since}, and still there'
                self._add(Kind.OVERDUE, text, hold)
        seconds = redeem.OVERDUE * CONF.rpc_response_timeout + rounds
        for reservation in VRTHold.list_reservations_redeeming(
            self._context, seconds
        ):
            text = (
                f'the resize of server {reservation.server_uuid} did not end'
            )
            self._add(Kind.OVERDUE, text, reservation)
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
            lost = overcommitment.overcommitted_on(
                self._context, self._ledger, provider, used
            )
            for hold in holds:
                if hold.uuid in lost:
                    text = f'more of {hold.host} is used than there is'
                    self._add(Kind.OVERCOMMITTED, text, hold)

    def _compare_holds(self):
        """Find holds whose allocations differ from their rows."""
        for hold in self._holds:
            if hold.status == states.Hold.HELD and not self._owns_all(hold):
                with self._asking(hold):
                    self._compare_again(hold)

    def _owns_all(self, hold):
        """Check whether all readings agree with a hold's row."""
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
        """Check whether a hold and its member have kept their statuses.

        While a member's server is being created, its hold may be redeemed in
        Placement and not in the row: the reaper resolves that.
        """
        rows = VRTHold.list_by_uuids(self._context, [hold.uuid])
        if [row.status for row in rows] != [hold.status]:
            return False
        if hold.is_placeholder or hold.is_resize_reservation:
            return True
        member = VRTMember.find_by_id(self._context, hold.member_id)
        return member is not None and member.status in member_statuses

    def _compare_servers(self):
        """Find members' servers that own nothing or are unknown to Nova."""
        hold_of = {
            self._members[hold.member_id].server_uuid: hold
            for hold in self._holds
            if hold.status == states.Hold.REDEEMED
            and not hold.is_resize_reservation
        }
        found = servers.read(self._context, [*hold_of])
        for uuid, hold in hold_of.items():
            server = found.get(uuid)
            if not self._is_server_there(hold):
                with self._asking(hold):
                    self._compare_server_again(uuid, hold, server)
            elif (
                server and server.fate == servers.ServerOutcome.UNKNOWN_TO_NOVA
            ):
                self._find_unknown_server(uuid, hold)

    def _find_unknown_server(self, uuid, hold):
        """Add a finding if no process can still be creating the server."""
        rounds = 2 * CONF.vrt.reap_interval
        seconds = release_holds.REQUEST_LIFETIME + rounds
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
        # A server that has moved owns an allocation elsewhere.
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
        """Return totals of the holds read, as PlacementClient.total() does."""
        ours = {hold.uuid for hold in self._holds}
        owners, total = set(), collections.Counter()
        for used in self._used.values():
            for consumer in used.keys() & ours:
                owners.add(consumer)
                total.update(used[consumer])
        return len(owners), dict(total)

    def find_strays(self):
        """Search all providers for allocations without a current row."""
        with self._asking():
            for provider in self._ledger.providers(self._context):
                if provider not in self._used:
                    self._read(provider)
        found_on = {
            consumer: provider
            for provider, used in self._used.items()
            for consumer in used
        }
        # A hold's row is inserted before its allocation and ends after it, so
        # the rows are read after Placement.
        for hold in VRTHold.list_by_status(
            self._context, *states.HOLD_HAS_NOT_ENDED
        ):
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
        """Add a finding when Placement does not answer, and go on."""
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
            member = self._members.get(hold.owner_id)
        if member is not None:
            about['group'] = self._groups.get(member.group_id)
            about['member'] = member.path
        self._found.append(Finding(kind, text, **about))
