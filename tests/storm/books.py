# SPDX-License-Identifier: Apache-2.0
"""Placement's books beside ours: who owns what, and is it too much?"""

from nova import context as nova_context
from nova.scheduler.client import report

from nova_groupext import objects
from nova_groupext.conf import CONF
from nova_groupext.db import api as db
from nova_groupext.db import models
from nova_groupext.objects import states
from nova_groupext.scheduler.placement import placement_client

LIVE = (states.Hold.HELD, states.Hold.REDEEMED)

# What is done with: RELEASED is a tombstone, and owns nothing.
AT_REST = (*LIVE, states.Hold.RELEASED)


class Books:
    """Looks at both, and changes neither.

    :param client: adapter to a Placement process
    :param providers: uuids of the hosts
    """

    def __init__(self, client, providers):
        self._client = client
        self._providers = providers
        self._context = nova_context.get_admin_context()
        self._ledger = placement_client.PlacementClient(
            report.SchedulerReportClient(client)
        )

    def watch(self):
        """Return what may never be, not even for an instant."""
        return [*self._too_much(), *self._two_owners()]

    def violations(self):
        """Return what may not be when everybody has come to rest."""
        return [*self.watch(), *self._wrong_rows(), *self._domains()]

    def leaks(self):
        """Return what is left of operations that were not finished."""
        rows = db.find(self._context, models.Hold)
        left = [
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
            left.append(f'{redeeming} members are still REDEEMING')
        left.extend(
            f'group {row.uuid} is still {row.status}'
            for row in db.find(
                self._context,
                models.Group,
                models.Group.status.in_(
                    (states.Group.PLANNING, states.Group.RELEASING)
                ),
            )
        )
        held = {row.uuid for row in rows if row.status == states.Hold.HELD}
        status = {row.uuid: row.status for row in rows}
        left.extend(
            f'{consumer} owns something, and is {status.get(consumer)}'
            for consumer in sorted(self._ours() - held)
        )
        return left

    def _too_much(self):
        for provider in self._providers:
            used = self._ledger.used(self._context, provider)
            excess = self._ledger.excess(self._context, provider, used)
            if excess:
                yield f'provider {provider} is over by {excess}'

    def _two_owners(self):
        """A swap goes one way: who looks at the server first is not misled.

        What comes back of a hold that has ended has room of its own.
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
                models.Hold.status.notin_(states.HOLD_ENDED),
            )
            server = self._ledger.allocations(self._context, row.server_uuid)
            for hold in holds:
                if server and self._ledger.allocations(
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
                found = self._ledger.allocations(self._context, row.uuid)
                if found != row.allocations:
                    yield f'hold {row.uuid} owns {found}'
        for row in db.find(
            self._context,
            models.Member,
            models.Member.status == states.Member.HELD,
        ):
            if row.id not in members:
                yield f'member {row.id} is HELD without a hold'

    def _domains(self):
        """Compare what groups have to themselves with what is full."""
        for group in objects.VRTGroup.list_exclusive(self._context):
            holds = objects.VRTHold.list_by_group(
                self._context, group.id, *LIVE
            )
            own = {h.provider_uuid for h in holds if not h.is_placeholder}
            filled = {h.provider_uuid for h in holds if h.is_placeholder}
            for provider in filled - own:
                yield f'group {group.uuid} still fills provider {provider}'
            for provider in own:
                rest = self._left(provider)
                if rest:
                    yield (
                        f'provider {provider} of {group.status} group '
                        f'{group.uuid} has {rest} left'
                    )

    def _left(self, provider):
        """Return {class: how much is left of it}, if there is any."""
        inventories = self._ledger.inventories(self._context, provider)
        used = self._ledger.used(self._context, provider)
        rest = placement_client.free_capacity(inventories, used)
        return {name: amount for name, amount in rest.items() if amount}

    def _ours(self):
        """Return the consumers of ours that own anything."""
        consumers = set()
        for provider in self._providers:
            consumers.update(self._ledger.used(self._context, provider))
        ours = set()
        for consumer in consumers:
            body = self._client.get(f'/allocations/{consumer}').json()
            if body.get('project_id') == CONF.vrt.hold_project_id:
                ours.add(consumer)
        return ours
