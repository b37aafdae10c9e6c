# SPDX-License-Identifier: Apache-2.0
"""Steps 3 to 7: the same servers as one group."""

import yaml

from demo_steps import placement_client
from demo_steps import scenario
from demo_steps import screen


class Group:
    """Life cycle of a group: created, held, redeemed, released, deleted."""

    def __init__(self, demo):
        self._demo = demo
        self._show = demo.show
        self._id = None
        #: {member path: host}, as the API shows it to an admin
        self._plan = {}
        self._servers = []

    def describe(self):
        """Create the group, check that it is held, and show the plan."""
        self._show.say('The tenant sends this in one POST /os-vrt-groups:')
        self._show.code(
            yaml.safe_dump(
                scenario.TOPOLOGY, sort_keys=False, default_flow_style=None
            )
        )
        self._id = self._demo.tenant.describe('shop', scenario.TOPOLOGY)
        answer = screen.wait_for(
            'waited for the group to be decided',
            lambda: self._demo.tenant.group(self._id),
            lambda answer: '"PLANNING"' not in answer.text,
        )
        self._show_tenants_view(answer)
        self._show_operators_view()

    def _show_tenants_view(self, answer):
        group = answer.json()['vrt_group']
        self._show.check(
            f'the group is {group["status"]}, with all of its '
            f'{len(scenario.TIER_OF)} members',
            {each['status'] for each in group['members']} == {'HELD'},
            group['refusal'] or group['fault'],
        )
        leaked = [host for host in self._demo.rack_of if host in answer.text]
        self._show.check(
            'the tenant is told no names of hosts and racks, but who shares '
            'one with whom:',
            not leaked,
            leaked,
        )
        self._show.line()
        self._show.table(
            ('member', 'status', 'host', 'rack', 'zone'),
            [_row(each) for each in group['members']],
        )
        not_met = [each['at'] for each in group['violations']]
        self._show.check(
            'the soft rule cannot be met for every pair, and the answer says '
            f'so: {", ".join(not_met)}',
            not_met == ['queries'],
        )
        self._show.line()

    def _show_operators_view(self):
        members = self._members()
        self._show.say('The operator sees the hosts:')
        self._demo.draw(members)
        self._plan = {each['path']: each['host'] for each in members}
        broken = scenario.broken_rules(self._plan, self._demo.rack_of)
        self._show.check('every strict rule is kept', not broken, broken)

    def meet_competitor(self):
        """Check that another project cannot use held capacity."""
        usages = self._demo.placement.usages()
        large_hosts = [
            host
            for host, usage in usages.items()
            if usage.free + usage.held >= self._demo.large.vcpus
        ]
        self._show.check(
            'without the holds 8 VCPU would be free on '
            f'{", ".join(large_hosts)}',
            len(large_hosts) == 5,
        )
        candidates = self._demo.placement.hosts_for(self._demo.large)
        self._show.check(
            'Placement has no host to offer', not candidates, candidates
        )
        server = self._demo.competitor.boot('competitor', scenario.LARGE)
        self._show.check(
            f'the server is {server.status}', server.status == 'ERROR'
        )
        self._show.quote('Nova', server.fault['message'])
        self._demo.competitor.remove([server])

    def redeem(self):
        """Redeem all members except those that are released later."""
        for path, planned in self._plan.items():
            if path not in scenario.RELEASED_MEMBERS:
                self._redeem(path, planned)
        self._show.line()
        self._demo.draw(self._members())

    def _redeem(self, path, planned):
        server = self._demo.tenant.redeem(self._id, path)
        self._servers.append(server)
        host = self._demo.operator.host_of(server)
        self._show.check(
            f'{path:<12} {server.status} on {host}, as planned',
            (server.status, host) == ('ACTIVE', planned),
            f'planned was {planned}',
        )

    def release(self):
        """Release two members, and check that Placement frees theirs only."""
        names = list(scenario.RELEASED_MEMBERS)
        self._show.say(f'Not needed after all: {" and ".join(names)}.')
        before = self._demo.placement.usages()
        self._demo.tenant.release(self._id, names)
        after = screen.wait_for(
            'waited for the release',
            self._demo.placement.usages,
            lambda usages: not any(each.held for each in usages.values()),
        )
        self._show_numbers(before, after)
        freed = {
            host: after[host].free - before[host].free
            for host in self._demo.rack_of
        }
        expected = dict.fromkeys(freed, 0)
        for path in names:
            expected[self._plan[path]] += scenario.TIER_OF[path].vcpus
        self._show.check(
            'what the two had is free again, and nothing else',
            freed == expected,
            freed,
        )
        status = self._shown()['status']
        self._show.check(
            f'the group is {status}: all that is left of it are servers',
            status == 'ACTIVE',
        )

    def _show_numbers(self, before, after):
        self._show.say("Placement's VCPU of each host, before and after:")
        rows = [(host, before[host], after[host]) for host in before]
        rows.append(
            (
                'all',
                placement_client.total(before.values()),
                placement_client.total(after.values()),
            )
        )
        numbers = ('in use', 'held', 'free')
        self._show.table(
            ('host', *numbers, '', *numbers),
            [
                (name, *old.numbers, '->', *new.numbers)
                for name, old, new in rows
            ],
        )

    def delete(self):
        """Delete the group; check that servers stay and no holds remain."""
        self._demo.tenant.delete_group(self._id)
        answer = self._demo.tenant.group(self._id)
        self._show.check(
            f'the group is gone: {answer.status_code}',
            answer.status_code == 404,
        )
        states = [
            self._demo.tenant.built(server).status for server in self._servers
        ]
        self._show.check(
            f'its {len(states)} servers go on', set(states) == {'ACTIVE'}
        )
        usages = self._demo.placement.usages().values()
        self._show.check(
            'Placement knows no hold any more',
            not any(usage.held for usage in usages),
        )
        server = self._demo.competitor.boot('competitor', scenario.LARGE)
        self._show.check(
            f'the competitor tries again: {server.status}, on '
            f'{self._demo.operator.host_of(server)}',
            server.status == 'ACTIVE',
        )

    def _shown(self):
        return self._demo.tenant.group(self._id).json()['vrt_group']

    def _members(self):
        return self._demo.operator.members(self._id)


def _row(member):
    domains = member['domains']
    return (
        member['path'],
        member['status'],
        domains['host'][:10],
        domains['rack'][:10],
        domains['zone'],
    )
