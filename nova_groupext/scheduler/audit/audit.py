# SPDX-License-Identifier: Apache-2.0
"""Audit: comparison of the tables with Placement.

1. Read leases, groups, holds and their members.
2. Compare the rows with each other, and find overdue work.
3. Read the usages of the providers with holds; find overcommitted ones.
4. Compare each hold with its allocations.
5. Compare each member's server with its allocation and with Nova.
6. If Placement's total of all holds differs from what 3 has read: search all
   providers for allocations without a current row.

The cloud changes meanwhile, so differences are confirmed: Placement is queried
once more, and the rows are read again after that. Groups that a planner works
on are skipped. An audit only reads, so a crash leaves nothing.
"""

import collections
import datetime

from nova_groupext.conf import CONF
from nova_groupext.db import api as db
from nova_groupext.objects import states
from nova_groupext.objects.hold import VRTHold
from nova_groupext.objects.member import VRTMember
from nova_groupext.scheduler.audit import findings
from nova_groupext.scheduler.nova import servers
from nova_groupext.scheduler.placement import overcommitment
from nova_groupext.scheduler.protocol import redeem
from nova_groupext.scheduler.protocol import release_holds

Kind = findings.Kind

IS_REFILLED = 'a hold that has ended has allocations in Placement again'
HAS_NO_ROW = 'an allocation of a hold that is not in our tables'


def audit(context, placement_client):
    """Return the differences, as [findings.Finding].

    :raises: PlacementUnavailable when it does not answer at all
    """
    return _Auditor(context, placement_client).run()


class _Auditor:
    """Comparison of one reading of all holds with Placement."""

    def __init__(self, context, placement_client):
        self._context = context
        self._placement_client = placement_client
        self._findings = findings.Findings(context)
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
        self._usages = {}

    def run(self):
        """Compare everything; return [findings.Finding]."""
        # First, so that an unavailable Placement ends the audit.
        total = self._placement_client.allocated_totals(self._context)
        self._compare_rows()
        self._find_overdue()
        providers = {
            provider for hold in self._holds for provider in hold.allocations
        }
        for provider in sorted(providers):
            self._read_usages(provider)
            self._find_overcommitted(provider)
        self._compare_holds()
        self._compare_servers()
        # A scan of all providers is needed only if the totals differ.
        if self._total_of_holds() != total:
            self._find_orphans()
        return self._findings.list()

    # -- our tables --------------------------------------------------------

    def _compare_rows(self):
        """Find members without a hold, and holds that match no member."""
        for member, holds in VRTMember.list_with_holds(self._context):
            matching = [
                hold
                for hold in holds
                if (member.status, hold.status) in states.VALID_STATE_PAIRS
            ]
            if not holds:
                text = f'the member is {member.status} and has no hold'
                self._add(Kind.INCONSISTENT, text, member=member)
            # The first hold that matches is the member's.
            for hold in holds:
                if hold not in matching[:1]:
                    text = (
                        f'the hold is {hold.status}, which does not match its '
                        'member'
                    )
                    self._add(Kind.INCONSISTENT, text, hold)

    def _find_overdue(self):
        """Find work that the reaper should have finished two rounds ago."""
        rounds = 2 * CONF.vrt.reap_interval
        seconds = release_holds.REQUEST_LIFETIME + rounds
        before = db.time(self._context) - datetime.timedelta(seconds=seconds)
        for hold in VRTHold.list_unfinished(self._context, before):
            self._add(
                Kind.OVERDUE,
                'an unfinished hold that no process works on',
                hold,
            )
        for hold in self._holds:
            since = hold.updated_at or hold.created_at
            if hold.status == states.Hold.RELEASING and since < before:
                text = f'its release began at {since} and has not finished'
                self._add(Kind.OVERDUE, text, hold)
        seconds = redeem.OVERDUE_FACTOR * CONF.rpc_response_timeout + rounds
        for reservation in VRTHold.list_left_reservations(
            self._context, seconds
        ):
            if reservation.status == states.Hold.REDEEMED:
                # The next round releases it.
                continue
            text = (
                f'the resize of server {reservation.server_uuid} has not '
                'finished'
            )
            self._add(Kind.OVERDUE, text, reservation)
        for member in VRTMember.list_stuck_redeems(self._context, seconds):
            text = (
                f'the redeem of server {member.server_uuid} has not finished'
            )
            self._add(Kind.OVERDUE, text, member=member)

    # -- Placement ---------------------------------------------------------

    def _read_usages(self, provider):
        """Read the usages of a provider; none if it is gone."""
        with self._findings.unknown_if_unavailable(provider=provider):
            used = self._placement_client.usages(self._context, provider)
            self._usages[provider] = used or {}

    def _find_overcommitted(self, provider):
        used = self._usages.get(provider, {})
        holds = [hold for hold in self._holds if hold.uuid in used]
        if not holds:
            return
        with self._findings.unknown_if_unavailable(provider=provider):
            overcommitted = overcommitment.overcommitted_on(
                self._context, self._placement_client, provider, used
            )
            for hold in holds:
                if hold.uuid in overcommitted:
                    text = f'host {hold.host} is overcommitted'
                    self._add(Kind.OVERCOMMITTED, text, hold)

    def _compare_holds(self):
        """Find holds whose allocations differ from their rows."""
        for hold in self._holds:
            is_held = hold.status == states.Hold.HELD
            if is_held and not self._is_consistent(hold):
                with self._unknown_if_unavailable(hold):
                    self._confirm_difference(hold)

    def _is_consistent(self, hold):
        """Check whether all readings agree with a hold's row."""
        return all(
            self._usages[provider].get(hold.uuid) == allocation['resources']
            for provider, allocation in hold.allocations.items()
            if provider in self._usages
        )

    def _confirm_difference(self, hold):
        """Add a finding if a second reading shows the difference, too."""
        owned = self._placement_client.allocations(self._context, hold.uuid)
        if owned == hold.allocations:
            return
        if not self._is_unchanged(hold, states.Member.HELD):
            return
        if owned:
            text = f'its allocations in Placement differ: {owned}'
            self._add(Kind.MISMATCH, text, hold)
        else:
            text = (
                f'it has no allocations in Placement; its host is {hold.host}'
            )
            self._add(Kind.MISSING, text, hold)

    def _is_unchanged(self, hold, *member_statuses):
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
        server_of = servers.read(self._context, [*hold_of])
        for uuid, hold in hold_of.items():
            server = server_of.get(uuid)
            if not self._has_server_allocation(hold):
                with self._unknown_if_unavailable(hold):
                    self._confirm_without_allocation(uuid, hold, server)
            elif (
                server
                and server.outcome == servers.ServerOutcome.UNKNOWN_TO_NOVA
            ):
                self._add_unknown_server(uuid, hold)

    def _add_unknown_server(self, uuid, hold):
        """Add a finding if no process can still be creating the server."""
        rounds = 2 * CONF.vrt.reap_interval
        seconds = release_holds.REQUEST_LIFETIME + rounds
        member = self._members[hold.member_id]
        if member.is_unchanged_for(self._context, seconds):
            text = 'its capacity belongs to a server that is unknown to Nova'
            self._add(Kind.UNKNOWN_SERVER, text, hold, consumer=uuid)

    def _has_server_allocation(self, hold):
        server = self._members[hold.member_id].server_uuid
        return any(
            server in self._usages.get(provider, {server: {}})
            for provider in hold.allocations
        )

    def _confirm_without_allocation(self, uuid, hold, server):
        """Add a finding if a server owns nothing on any provider."""
        # A server that has moved owns an allocation elsewhere.
        if self._placement_client.allocations(self._context, uuid):
            return
        if not self._is_unchanged(
            hold, states.Member.ACTIVE, states.Member.FAILED
        ):
            return
        if server is None:
            text = f'the cell of server {uuid} does not answer'
            self._add(Kind.UNKNOWN, text, hold, consumer=uuid)
        else:
            outcome = server.outcome.value
            text = (
                f'the server has no allocations in Placement; it is {outcome}'
            )
            self._add(
                Kind.SERVER_WITHOUT_ALLOCATION, text, hold, consumer=uuid
            )

    def _total_of_holds(self):
        """Return the totals of the holds, as allocated_totals() does."""
        hold_uuids = {hold.uuid for hold in self._holds}
        owners, total = set(), collections.Counter()
        for used in self._usages.values():
            for consumer in used.keys() & hold_uuids:
                owners.add(consumer)
                total.update(used[consumer])
        return len(owners), dict(total)

    def _find_orphans(self):
        """Search all providers for allocations without a current row."""
        with self._findings.unknown_if_unavailable():
            for provider in self._placement_client.roots(self._context):
                if provider not in self._usages:
                    self._read_usages(provider)
        provider_of = {
            consumer: provider
            for provider, used in self._usages.items()
            for consumer in used
        }
        # A hold's row is inserted before its allocation and ends after it, so
        # the rows are read after Placement.
        for hold in VRTHold.list_by_status(
            self._context, *states.HOLD_HAS_NOT_ENDED
        ):
            provider_of.pop(hold.uuid, None)
        suspects = sorted(provider_of)
        mapped = servers.list_mapped(self._context, suspects)
        for consumer in (uuid for uuid in suspects if uuid not in mapped):
            with self._findings.unknown_if_unavailable(consumer=consumer):
                if self._placement_client.is_hold(self._context, consumer):
                    has_ended = VRTHold.has_ended(self._context, consumer)
                    self._add(
                        Kind.REFILLED if has_ended else Kind.ORPHAN,
                        IS_REFILLED if has_ended else HAS_NO_ROW,
                        consumer=consumer,
                        provider=provider_of[consumer],
                    )

    def _add(self, kind, text, hold=None, member=None, **about):
        """Add a finding about a hold and its member, or about a member."""
        if hold is not None:
            member = self._members.get(hold.owner_id)
        self._findings.add(kind, text, hold, member, **about)

    def _unknown_if_unavailable(self, hold):
        """Add a finding when Placement does not answer about a hold."""
        return self._findings.unknown_if_unavailable(
            hold, self._members.get(hold.owner_id)
        )
