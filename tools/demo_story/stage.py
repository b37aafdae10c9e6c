# SPDX-License-Identifier: Apache-2.0
"""Context that the steps of the demo share."""

import collections

from demo_story import ledger
from demo_story import people
from demo_story import picture
from demo_story import scenario


class Stage:
    """Running cloud with its users, Placement client and screen.

    :ivar hosts: the cloud's hosts, sorted by rack
    :ivar rack_of: {host name: rack}
    :ivar large: flavor of the databases and of the competitor's server
    """

    def __init__(self, running, show):
        self.show = show
        self.hosts = running.hosts
        self.rack_of = {host.name: host.rack for host in running.hosts}
        self.tenant = people.Tenant(running, 'demo')
        self.competitor = people.Tenant(running, 'other')
        self.operator = people.Operator(running, 'admin')
        self.placement = ledger.Ledger(running)
        self.large = running.nova('admin').flavors.find(name=scenario.LARGE)

    def draw(self, members=()):
        """Draw the cloud, and compare its holds with Placement's.

        :param members: members of a group as the API shows them to an admin
        """
        usages = self.placement.usages()
        seats = collections.defaultdict(list)
        for each in members:
            if each['status'] in ('HELD', 'ACTIVE'):
                tier = scenario.TIER_OF[each['path']]
                seats[each['host']].append(
                    picture.Seat(
                        scenario.name_of(each['path']),
                        tier.vcpus,
                        each['status'] == 'HELD',
                    )
                )
        drawn = picture.draw(self.hosts, usages, seats)
        self.show.picture([*drawn, picture.LEGEND], picture.COLOURS)
        shown = {
            host: sum(seat.vcpus for seat in seats[host] if seat.is_held)
            for host in usages
        }
        held = {host: usage.held for host, usage in usages.items()}
        self.show.check(
            f'Placement counts as the picture shows: {sum(held.values())} '
            f'VCPU held, {sum(u.free for u in usages.values())} free',
            held == shown,
            held,
        )
