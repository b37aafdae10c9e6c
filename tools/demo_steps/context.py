# SPDX-License-Identifier: Apache-2.0
"""Context that the steps of the demo share."""

import collections

from demo_steps import drawing
from demo_steps import placement_client
from demo_steps import scenario
from demo_steps import users


class Demo:
    """Running cloud with its users, Placement client and screen.

    :ivar hosts: the cloud's hosts, sorted by rack
    :ivar rack_of: {host name: rack}
    :ivar large: flavor of the databases and of the competitor's server
    """

    def __init__(self, running, show):
        self.show = show
        self.hosts = running.hosts
        self.rack_of = {host.name: host.rack for host in running.hosts}
        self.tenant = users.Tenant(running, 'demo')
        self.competitor = users.Tenant(running, 'other')
        self.operator = users.Operator(running, 'admin')
        self.placement = placement_client.PlacementClient(running)
        self.large = running.nova('admin').flavors.find(name=scenario.LARGE)

    def draw(self, members=()):
        """Draw the cloud, and compare its holds with Placement's.

        :param members: members of a group as the API shows them to an admin
        """
        usages = self.placement.usages()
        capacities = collections.defaultdict(list)
        for each in members:
            if each['status'] in ('HELD', 'ACTIVE'):
                tier = scenario.TIER_OF[each['path']]
                capacities[each['host']].append(
                    drawing.UsedCapacity(
                        scenario.name_of(each['path']),
                        tier.vcpus,
                        each['status'] == 'HELD',
                    )
                )
        lines = drawing.draw(self.hosts, usages, capacities)
        self.show.picture([*lines, drawing.LEGEND], drawing.COLOURS)
        drawn_holds = {
            host: sum(
                capacity.vcpus
                for capacity in capacities[host]
                if capacity.is_held
            )
            for host in usages
        }
        held = {host: usage.held for host, usage in usages.items()}
        self.show.check(
            f'Placement counts as the picture shows: {sum(held.values())} '
            f'VCPU held, {sum(u.free for u in usages.values())} free',
            held == drawn_holds,
            held,
        )
