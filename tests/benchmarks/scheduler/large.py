# SPDX-License-Identifier: Apache-2.0
"""Large groups, and many of them, on one cloud of some thousand hosts."""

from nova_groupext.conf import CONF
from tests.benchmarks.scheduler import cloud as clouds
from tests.benchmarks.scheduler import groups
from tests.benchmarks.scheduler import measures
from tests.benchmarks.scheduler import shapes

MEMBERS = 1000
MANY_GROUPS = 100
MEMBERS_OF_MANY = 100


def measure(shape, size):
    """Measure a large group on one cloud, and the reaper on another.

    :returns: as measures.measure()
    """
    with clouds.PopulatedCloud(shapes.SHAPES[shape], size) as populated:
        found = _measure_large(measures.Bench(populated), size)
    with clouds.PopulatedCloud(shapes.SHAPES[shape], size) as populated:
        return found | _measure_many(measures.Bench(populated), size)


def _measure_large(bench, size):
    bench.create()
    found = {'create by stock Nova': (measures.repeat(bench.create), None)}
    held, group = bench.hold(MEMBERS, policies=[_apart(size, MEMBERS)])
    found[f'hold of {MEMBERS:,}'] = [held], None
    paths = [member.path for member in group.members]
    bench.redeem(group, paths[0])
    found[f'redeem, group of {MEMBERS:,}'] = (
        [bench.redeem(group, path) for path in paths[1:4]],
        'create by stock Nova',
    )
    found[f'release of {MEMBERS:,}'] = (
        [bench.release(group)],
        f'hold of {MEMBERS:,}',
    )
    return found


def _measure_many(bench, size):
    number = _hold_many(bench, size)
    # The first round reads all providers with holds.
    bench.reap()
    name = f'idle reaper, {number} groups of {MEMBERS_OF_MANY}'
    return {name: (measures.repeat(bench.reap), None)}


def _hold_many(bench, size):
    """Hold groups while they fit; return their number."""
    CONF.set_override('max_held_members_per_project', -1, 'vrt')
    policies = [_apart(size, MEMBERS_OF_MANY)]
    for number in range(MANY_GROUPS):
        try:
            bench.hold(MEMBERS_OF_MANY, policies=policies)
        except measures.NotHeld:
            return number
    return MANY_GROUPS


def _apart(size, members):
    """Return a strict policy of racks that leaves some choice.

    A third of the members is in a zone, with a part of the racks.
    """
    racks = size // shapes.RACK_SIZE // shapes.ZONES
    return {**groups.APART, 'max_per_domain': 1 + members // racks}
