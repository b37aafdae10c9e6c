# SPDX-License-Identifier: Apache-2.0
"""Checks for a group at rest, in Nova and Placement.

The checks do not rely on the product: hosts come from Nova, amounts from the
flavors, and the policies have evaluators of their own.
"""

import collections

from nova_groupext import objects
from nova_groupext.objects import states
from nova_groupext.scheduler import planner
from nova_groupext.scheduler.audit import audit
from tests import rounds
from tests.functional import base
from tests.services import ownership


def _at_most_one_each(domains):
    return max(collections.Counter(domains).values(), default=0) <= 1


def _in_one_domain(domains):
    return len(set(domains)) <= 1


def _balanced(domains):
    counts = collections.Counter(domains).values()
    return not counts or (
        len(counts) >= min(2, len(domains)) and max(counts) - min(counts) <= 1
    )


# {policy type: predicate of the domains, at its scope, of its members}
IS_MET = {
    'anti-affinity': _at_most_one_each,
    'affinity': _in_one_domain,
    'spread': _balanced,
}
# These are never broken by a member that goes.
NEVER_IN_DRIFT = ('anti-affinity', 'affinity')


class Invariants:
    """A mixin before a StepTestCase whose group is ``self.uuid``."""

    #: No more servers and held members than that.
    MAX_SERVERS = 8

    def violated_invariants(self):
        """Run a round of the reaper, and return the broken promises.

        :returns: {promise: evidence that contradicts it}
        """
        rounds.reap(planner.Planner('reaper'), self.context)
        self.current = self.group(self.uuid, 'admin')
        self.current_servers = {
            server.id: server
            for server in self.cloud.nova('admin').servers.list(
                search_opts={'all_tenants': True}
            )
        }
        self.current_holds = self.holds_of(self.uuid)
        evidences = {
            'P1 one owner': self._allocation_differences(),
            'P2 policies': self._policy_differences(),
            'P3 capacity': {
                host: free for host, free in self.free().items() if free < 0
            },
            'P4 at rest': self._unfinished_operations(),
            'P6 answers': self._wrong_answers(),
            'P7 tenants': self._leaked_names(),
            'quota': self._excess_over_quota(),
            'audit': audit.audit(self.context, self.placement_client),
        }
        return {
            promise: evidence
            for promise, evidence in evidences.items()
            if evidence
        }

    def _allocation_differences(self):
        """Compare Placement with the holds and with Nova's servers."""
        providers = {
            host.name: self.cloud.provider(host.name) for host in self.HOSTS
        }
        held = objects.VRTHold.list_by_status(self.context, states.Hold.HELD)
        expected = {hold.uuid: hold.allocations for hold in held}
        for uuid, server in self.current_servers.items():
            if host := self.server_host(server):
                amounts = {
                    'VCPU': server.flavor['vcpus'],
                    'MEMORY_MB': server.flavor['ram'],
                    'DISK_GB': server.flavor['disk'],
                }
                expected[uuid] = {providers[host]: {'resources': amounts}}
        actual = collections.defaultdict(dict)
        for provider in providers.values():
            used = self.placement_client.usages(self.context, provider)
            for consumer, amounts in used.items():
                actual[consumer][provider] = {'resources': amounts}
        return {
            consumer: (expected.get(consumer), actual.get(consumer))
            for consumer in expected.keys() | actual.keys()
            if expected.get(consumer) != actual.get(consumer)
        }

    @staticmethod
    def server_host(server):
        return getattr(server, 'OS-EXT-SRV-ATTR:host')

    def member_hosts(self):
        """Return {path: host} of held members and of servers on a host."""
        hosts = {}
        for member in self.current['members']:
            server = self.current_servers.get(member['server_id'])
            has_server = member['status'] in ('ACTIVE', 'LEAVING')
            if member['status'] == 'HELD':
                hosts[member['path']] = member['host']
            elif has_server and server is not None:
                hosts[member['path']] = self.server_host(server)
            if member['successor'] is not None:
                successor = member['successor']['server_id']
                hosts[successor] = self.server_host(
                    self.current_servers[successor]
                )
        return {path: host for path, host in hosts.items() if host}

    def _policy_differences(self):
        """Compare broken strict policies with the reported drift."""
        racks = {host.name: host.rack for host in self.HOSTS}
        hosts = self.member_hosts()
        broken = set()
        for policy in self.current['topology'].get('policies', ()):
            domains = [
                host if policy['scope'] == 'host' else racks[host]
                for host in hosts.values()
            ]
            if not IS_MET[policy['type']](domains):
                broken.add(policy['type'])
        reported = {each['policy']['type'] for each in self.current['drift']}
        if broken != reported or broken & set(NEVER_IN_DRIFT):
            return f'broken: {broken}, told: {reported}, places: {hosts}'
        return None

    def _unfinished_operations(self):
        group = objects.VRTGroup.get(self.context, self.uuid)
        rows = ownership.Ownership(
            self.current_holds, {member.id: member for member in group.members}
        )
        moves = objects.VRTMove.list_by_group(self.context, group.id)
        hold_hosts = {hold.member_id: hold.host for hold in self.current_holds}
        misplaced = [
            member.path
            for member in group.members
            if member.status == states.Member.ACTIVE
            and hold_hosts.get(member.id)
            != self.server_host(self.current_servers[member.server_uuid])
        ]
        return [*(rows.state_pairs() - ownership.AT_REST), *moves, *misplaced]

    def _wrong_answers(self):
        """Check that a refusal has a conflict and the status is right."""
        statuses = {member['status'] for member in self.current['members']}
        resizes = [member['resize'] for member in self.current['members']]
        is_held = any(resize and resize['held'] for resize in resizes)
        expected = (
            'HELD'
            if is_held or 'HELD' in statuses
            else 'ACTIVE'
            if statuses & {'ACTIVE', 'SHELVED', 'LEAVING'}
            else self.current['status']
        )
        revision = self.current['revision'] or {}
        has_no_conflict = revision.get('status') == 'REFUSED' and not (
            revision['refusal'] and revision['refusal']['conflict']
        )
        if expected != self.current['status'] or has_no_conflict:
            return self.current['status'], revision
        return None

    def _leaked_names(self):
        """Return host names and foreign groups that a tenant can see."""
        path = f'{base.GROUPS}/{self.uuid}'
        shown = self.api().get(path).text
        leaked = [host.name for host in self.HOSTS if host.name in shown]
        if self.api('other').get(path).status_code != 404:
            leaked.append(path)
        return leaked

    def _excess_over_quota(self):
        held = [
            hold
            for hold in self.current_holds
            if hold.status == states.Hold.HELD
            and not hold.is_resize_reservation
        ]
        total = len(self.current_servers) + len(held)
        return total if total > self.MAX_SERVERS else None
