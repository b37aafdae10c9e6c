# SPDX-License-Identifier: Apache-2.0
"""The crowded cloud, and the group that nevertheless fits.

Twelve hosts of 16 VCPU; FREE is what other people left of them. The group
wants 52 of the 58 VCPU that are free, so whatever plan is held, less than the
8 of a large server is left.

Nova sends each server to the emptiest host. Small ones first, they nibble
from all five hosts that a database fits on. Large ones first, two databases
end in rack r4, for Nova knows no racks.
"""

import collections
import dataclasses

from nova_groupext.cloud import image

#: Rack: the VCPU that are free on each of its hosts.
FREE = {'r1': (8, 4, 2), 'r2': (8, 4, 2), 'r3': (8, 2, 2), 'r4': (9, 9, 0)}

IMAGE = image.image_id('cirros')
#: What the competitor asks for; a database's flavor.
LARGE = 'm1.xlarge'
#: Given up later on: the tenant does with two databases and five web servers.
GIVEN_UP = ('data/db-2', 'front/web-5')


@dataclasses.dataclass(frozen=True)
class Tier:
    """Equal servers, described as ``group/name-0``, ``group/name-1``..."""

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
    """Return which of the strict rules some placement breaks, in words.

    Counted here once more, so that the demo does not take the planner's word.

    :param planned: {member path: host}, of all or some members
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
        for tier, scope, counts, most in limits
        for (counted, domain), number in sorted(
            counts.items(), key=lambda item: item[0][1]
        )
        if counted is tier and number > most
    ]
