# SPDX-License-Identifier: Apache-2.0
"""What DESIGN's promises say of a group at rest, asked of Nova and Placement.

Nothing here asks the product what would be right: places are Nova's, amounts
are the flavors', and the policies are counted once more.
"""

import collections

from nova_groupext import objects
from nova_groupext.objects import states
from nova_groupext.scheduler import planner
from nova_groupext.scheduler.audit import audit
from tests import rounds
from tests.functional import base
from tests.services import owners


def _apart(domains):
    return max(collections.Counter(domains).values(), default=0) <= 1


def _together(domains):
    return len(set(domains)) <= 1


def _even(domains):
    counts = collections.Counter(domains).values()
    return not counts or (
        len(counts) >= min(2, len(domains)) and max(counts) - min(counts) <= 1
    )


# Whether a strict policy of the scope is kept by those domains of its members.
KEPT = {'anti-affinity': _apart, 'affinity': _together, 'spread': _even}
# These are never broken by a member that goes.
NEVER_BROKEN = ('anti-affinity', 'affinity')


class Promises:
    """Goes before a StepTestCase whose group is ``self.uuid``."""

    #: No more servers and held members than that.
    LIMIT = 8

    def broken(self):
        """Let a reaper make its round, and return what is not as promised.

        :returns: {promise: what is there instead}
        """
        rounds.reap(planner.Planner('reaper'), self.context)
        self.now = self.group(self.uuid, 'admin')
        self.servers_now = {
            server.id: server
            for server in self.cloud.nova('admin').servers.list(
                search_opts={'all_tenants': True}
            )
        }
        self.holds_now = self.holds_of(self.uuid)
        found = {
            'P1 one owner': self._differences(),
            'P2 policies': self._broken_policies(),
            'P3 capacity': {
                host: free for host, free in self.free().items() if free < 0
            },
            'P4 at rest': self._unfinished(),
            'P6 answers': self._answers(),
            'P7 tenants': self._leaks(),
            'quota': self._over_quota(),
            'audit': audit.audit(self.context, self.ledger),
        }
        return {promise: what for promise, what in found.items() if what}

    def _differences(self):
        """Compare Placement with the holds and with Nova's servers."""
        providers = {
            host.name: self.cloud.provider(host.name) for host in self.HOSTS
        }
        held = objects.VRTHold.list_by_status(self.context, states.Hold.HELD)
        expected = {hold.uuid: hold.allocations for hold in held}
        for uuid, server in self.servers_now.items():
            if host := self.place(server):
                amounts = {
                    'VCPU': server.flavor['vcpus'],
                    'MEMORY_MB': server.flavor['ram'],
                    'DISK_GB': server.flavor['disk'],
                }
                expected[uuid] = {providers[host]: {'resources': amounts}}
        there = collections.defaultdict(dict)
        for provider in providers.values():
            used = self.ledger.used(self.context, provider)
            for consumer, amounts in used.items():
                there[consumer][provider] = {'resources': amounts}
        return {
            consumer: (expected.get(consumer), there.get(consumer))
            for consumer in expected.keys() | there.keys()
            if expected.get(consumer) != there.get(consumer)
        }

    @staticmethod
    def place(server):
        return getattr(server, 'OS-EXT-SRV-ATTR:host')

    def places(self):
        """Return {path: host} of held members and of servers on a host."""
        found = {}
        for member in self.now['members']:
            server = self.servers_now.get(member['server_id'])
            if member['status'] == 'HELD':
                found[member['path']] = member['host']
            elif member['status'] == 'ACTIVE' and server is not None:
                found[member['path']] = self.place(server)
        return found

    def _broken_policies(self):
        """Strict policies hold but where drift says so; some hold always."""
        racks = {host.name: host.rack for host in self.HOSTS}
        places = self.places()
        broken = set()
        for policy in self.now['topology'].get('policies', ()):
            domains = [
                host if policy['scope'] == 'host' else racks[host]
                for host in places.values()
            ]
            if not KEPT[policy['type']](domains):
                broken.add(policy['type'])
        told = {each['policy']['type'] for each in self.now['drift']}
        if broken != told or broken & set(NEVER_BROKEN):
            return f'broken: {broken}, told: {told}, places: {places}'
        return None

    def _unfinished(self):
        group = objects.VRTGroup.get(self.context, self.uuid)
        rows = owners.Owners(
            self.holds_now, {member.id: member for member in group.members}
        )
        moves = objects.VRTMove.list_by_group(self.context, group.id)
        where = {hold.member_id: hold.host for hold in self.holds_now}
        misplaced = [
            member.path
            for member in group.members
            if member.status == states.Member.ACTIVE
            and where.get(member.id)
            != self.place(self.servers_now[member.server_uuid])
        ]
        return [*(rows.pairs() - owners.AT_REST), *moves, *misplaced]

    def _answers(self):
        """A refusal says why, and a status what there is."""
        statuses = {member['status'] for member in self.now['members']}
        resizes = [member['resize'] for member in self.now['members']]
        is_held = any(resize and resize['held'] for resize in resizes)
        expected = (
            'HELD'
            if is_held or 'HELD' in statuses
            else 'ACTIVE'
            if statuses & {'ACTIVE', 'SHELVED'}
            else self.now['status']
        )
        revision = self.now['revision'] or {}
        is_mute = revision.get('status') == 'REFUSED' and not (
            revision['refusal'] and revision['refusal']['conflict']
        )
        if expected != self.now['status'] or is_mute:
            return self.now['status'], revision
        return None

    def _leaks(self):
        """Tenants see no host, and nobody else's group."""
        path = f'{base.GROUPS}/{self.uuid}'
        seen = self.api().get(path).text
        leaked = [host.name for host in self.HOSTS if host.name in seen]
        if self.api('other').get(path).status_code != 404:
            leaked.append(path)
        return leaked

    def _over_quota(self):
        held = [
            hold
            for hold in self.holds_now
            if hold.status == states.Hold.HELD
            and not hold.is_resize_reservation
        ]
        taken = len(self.servers_now) + len(held)
        return taken if taken > self.LIMIT else None
