# SPDX-License-Identifier: Apache-2.0
"""Audit of the allocations in Placement against our tables."""

from nova import context as nova_context
from nova.scheduler.client import report

from nova_groupext import objects
from nova_groupext.conf import CONF
from nova_groupext.db import api as db
from nova_groupext.db import models
from nova_groupext.objects import states
from nova_groupext.scheduler.placement import client

LIVE = (states.Hold.HELD, states.Hold.REDEEMED)

# States without an operation in progress; RELEASED rows own nothing.
AT_REST = (*LIVE, states.Hold.RELEASED)


class AllocationAudit:
    """Read-only comparison of Placement with our tables.

    :param adapter: keystoneauth1 adapter of a Placement process
    :param providers: uuids of the hosts
    """

    def __init__(self, adapter, providers):
        self._adapter = adapter
        self._providers = providers
        self._context = nova_context.get_admin_context()
        self._placement_client = client.PlacementClient(
            report.SchedulerReportClient(adapter)
        )

    def check_now(self):
        """Return the violations of the invariants of every instant."""
        return [*self._overcommitted(), *self._two_owners()]

    def violations(self):
        """Return the violations at rest."""
        return [*self.check_now(), *self._wrong_rows(), *self._domains()]

    def leaks(self):
        """Return the rows and allocations of unfinished operations."""
        rows = db.find(self._context, models.Hold)
        found = [
            f'hold {row.uuid} is still {row.status}'
            for row in rows
            if row.status not in AT_REST
        ]
        redeeming = db.count(
            self._context,
            models.Member,
            models.Member.status == states.Member.REDEEMING,
        )
        if redeeming:
            found.append(f'{redeeming} members are still REDEEMING')
        found.extend(
            self._describe(row)
            for row in db.find(
                self._context,
                models.Group,
                models.Group.status.in_(
                    (states.Group.PLANNING, states.Group.RELEASING)
                ),
            )
        )
        found.extend(self._left_by_creates())
        held = {row.uuid for row in rows if row.status == states.Hold.HELD}
        status = {row.uuid: row.status for row in rows}
        found.extend(
            f'{consumer} owns something, and is {status.get(consumer)}'
            for consumer in sorted(self.own_consumers() - held)
        )
        return found

    def _describe(self, row):
        """Return a sentence about a group, with what may prevent its end."""
        group = objects.VRTGroup.find(self._context, row.uuid)
        drafts = db.find(
            self._context, models.Group, models.Group.revises_id == row.id
        )
        ids = [member.id for member in group.members]
        holds = db.find(
            self._context,
            models.Hold,
            (models.Hold.group_id == row.id) | models.Hold.member_id.in_(ids),
        )
        rows = {'draft': drafts, 'member': group.members, 'hold': holds}
        parts = [
            f'{name} {each.id} is {each.status}'
            for name, found in rows.items()
            for each in found
        ]
        return (
            f'group {row.uuid} is still {row.status}, '
            f'since {row.updated_at}: {"; ".join(parts)}'
        )

    def _left_by_creates(self):
        """Yield what creates have left whose schedulers have gone."""
        for row in db.find(
            self._context,
            models.Create,
            models.Create.status.in_(
                (states.Create.OPEN, states.Create.PLACED)
            ),
        ):
            yield f'a create for {row.hint} is still {row.status}'
        for row in db.find(
            self._context,
            models.Member,
            models.Member.reserved_for.is_not(None),
        ):
            yield f'member {row.path} is still reserved'
        for row in db.find(
            self._context,
            models.Group,
            models.Group.status.in_(states.GROUP_WITH_HOLDS),
        ):
            group = objects.VRTGroup.find(self._context, row.uuid)
            for each in group.member_sets:
                yield from _held_beyond(group, each)

    def _overcommitted(self):
        for provider in self._providers:
            used = self._placement_client.usages(self._context, provider)
            excess = self._placement_client.overcommitment(
                self._context, provider, used
            )
            if excess:
                yield f'provider {provider} is over by {excess}'

    def _two_owners(self):
        """Yield holds that have allocations along with their servers.

        A swap goes from the hold to the server, so the server is read first.
        """
        for row in db.find(
            self._context,
            models.Member,
            models.Member.status == states.Member.REDEEMING,
        ):
            holds = db.find(
                self._context,
                models.Hold,
                models.Hold.member_id == row.id,
                models.Hold.status.notin_(
                    (states.Hold.RELEASING, states.Hold.RELEASED)
                ),
                # A revision fills some rows before it prepares its swap;
                # their members own these only with that.
                (models.Hold.status != states.Hold.WRITING)
                | models.Hold.if_compensated.is_not(None),
            )
            server = self._placement_client.allocations(
                self._context, row.server_uuid
            )
            for hold in holds:
                if server and self._placement_client.allocations(
                    self._context, hold.uuid
                ):
                    yield (
                        f'{hold.status} {hold.uuid} and its server own '
                        f'member {row.id}'
                    )

    def _wrong_rows(self):
        members = set()
        for row in db.find(
            self._context, models.Hold, models.Hold.status.in_(LIVE)
        ):
            if row.member_id in members:
                yield f'member {row.member_id} has two holds'
            if row.member_id is not None:
                members.add(row.member_id)
            if row.status == states.Hold.HELD:
                actual = self._placement_client.allocations(
                    self._context, row.uuid
                )
                if actual != row.allocations:
                    yield f'hold {row.uuid} owns {actual}'
        for row in db.find(
            self._context,
            models.Member,
            models.Member.status == states.Member.HELD,
        ):
            if row.id not in members:
                yield f'member {row.id} is HELD without a hold'

    def _domains(self):
        """Compare the exclusive hosts with the full ones."""
        for group in objects.VRTGroup.list_exclusive(self._context):
            holds = objects.VRTHold.list_by_group(
                self._context, group.id, *LIVE
            )
            member_hosts = {
                h.provider_uuid for h in holds if not h.is_placeholder
            }
            filled_hosts = {h.provider_uuid for h in holds if h.is_placeholder}
            for provider in filled_hosts - member_hosts:
                yield f'group {group.uuid} still fills provider {provider}'
            for provider in member_hosts:
                free = self._free_capacity(provider)
                if free:
                    yield (
                        f'provider {provider} of {group.status} group '
                        f'{group.uuid} has {free} left'
                    )

    def _free_capacity(self, provider):
        """Return {class: free amount}, without classes that have none."""
        inventories = self._placement_client.inventories(
            self._context, provider
        )
        used = self._placement_client.usages(self._context, provider)
        free = client.free_capacity(inventories, used)
        return {name: amount for name, amount in free.items() if amount}

    def own_consumers(self):
        """Return the consumers with allocations of our project."""
        consumers = set()
        for provider in self._providers:
            consumers.update(
                self._placement_client.usages(self._context, provider)
            )
        own_consumers = set()
        for consumer in consumers:
            body = self._adapter.get(f'/allocations/{consumer}').json()
            if body.get('project_id') == CONF.vrt.hold_project_id:
                own_consumers.add(consumer)
        return own_consumers


def _held_beyond(group, member_set):
    """Yield a sentence if members are held beyond the count of their set."""
    placed = [
        each.status
        for each in group.members
        if each.member_set == member_set.path
        and not each.is_successor
        and each.status in states.MEMBER_PLACED
    ]
    if states.Member.HELD in placed and len(placed) > member_set.wanted:
        yield (
            f'group {group.uuid} has {len(placed)} of {member_set.wanted} '
            f'members of {member_set.path}, and holds some'
        )
