# SPDX-License-Identifier: Apache-2.0
"""Scenario of the demo: a nearly full cloud, and a group that fits.

Twelve hosts have 16 VCPU each; FREE is the capacity that other servers leave.
The group needs 52 of the 58 free VCPU: no plan leaves 8 for a large server.

Nova spreads servers over the emptiest hosts. Small servers first take capacity
of all five hosts that a database fits on. With large servers first, two
databases are in rack r4, because Nova ignores racks.
"""

import collections
import dataclasses

from nova_groupext.cloud import image

#: {rack: number of free VCPU of each of its hosts}.
FREE = {'r1': (8, 4, 2), 'r2': (8, 4, 2), 'r3': (8, 2, 2), 'r4': (9, 9, 0)}

IMAGE = image.image_id('cirros')
#: Flavor of the databases and of the competitor's server.
LARGE = 'm1.xlarge'
#: Members that the tenant releases instead of redeeming them.
RELEASED_MEMBERS = ('data/db-2', 'front/web-5')


@dataclasses.dataclass(frozen=True)
class Tier:
    """Equal members: ``group/name-0``, ``group/name-1`` and so on."""

    group: str
    name: str
    count: int
    flavor: str
    vcpus: int

    @property
    def paths(self):
        return [f'{self.group}/{self.name}-{i}' for i in range(self.count)]


WEB = Tier('front', 'web', 6, 'm1.medium', 2)
APP = Tier('logic', 'app', 4, 'm1.large', 4)
DB = Tier('data', 'db', 3, LARGE, 8)
TIERS = (WEB, APP, DB)

TIER_OF = {path: tier for tier in TIERS for path in tier.paths}

RULES = {
    WEB: [{'type': 'anti-affinity', 'scope': 'rack', 'max_per_domain': 2}],
    APP: [{'type': 'anti-affinity', 'scope': 'host'}],
    DB: [{'type': 'spread', 'scope': 'rack', 'min_domains': 3}],
}

TOPOLOGY = {
    'groups': {
        tier.group: {
            'members': {
                tier.name: {
                    'flavor': tier.flavor,
                    'image': IMAGE,
                    'count': tier.count,
                }
            },
            'policies': rules,
        }
        for tier, rules in RULES.items()
    },
    'relationships': [
        {
            'name': 'queries',
            'between': [APP.group, DB.group],
            'policies': [
                {
                    'type': 'network-proximity',
                    'scope': 'rack',
                    'strict': False,
                }
            ],
        }
    ],
}


def name_of(path):
    """Return a member's name within its subgroup."""
    return path.rpartition('/')[2]


def broken_rules(planned, rack_of):
    """Return a text for each strict policy and domain that is violated.

    This check is independent of the planner.

    :param planned: {member path: host} of all or some members
    :param rack_of: {host: rack}
    """
    racks, hosts = collections.Counter(), collections.Counter()
    for path, host in planned.items():
        racks[TIER_OF[path], rack_of[host]] += 1
        hosts[TIER_OF[path], host] += 1
    limits = (
        (WEB, 'rack', racks, 2),
        (APP, 'host', hosts, 1),
        (DB, 'rack', racks, 1),
    )
    return [
        f'{number} {tier.name} in {scope} {domain}'
        for tier, scope, counts, maximum in limits
        for (counted_tier, domain), number in sorted(
            counts.items(), key=lambda item: item[0][1]
        )
        if counted_tier is tier and number > maximum
    ]
