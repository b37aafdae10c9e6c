# SPDX-License-Identifier: Apache-2.0
"""Steps 1 and 2: a nearly full cloud, and Nova without groups."""

from demo_story import scenario

APP, DB, WEB = scenario.APP, scenario.DB, scenario.WEB


def fill(the):
    """Create servers until the free capacity is ``scenario.FREE``."""
    free = [left for rack in scenario.FREE.values() for left in rack]
    others = [
        the.operator.occupy(host, host.vcpus - left)
        for host, left in zip(the.hosts, free, strict=True)
    ]
    states = {the.operator.built(server).status for server in others}
    the.show.check(
        f'{len(others)} servers of other people run', states == {'ACTIVE'}
    )
    the.draw()
    usages = the.placement.usages()
    the.show.check(
        f'{sum(free)} VCPU are free, spread as intended',
        [usages[host.name].free for host in the.hosts] == free,
        usages,
    )


def one_by_one(the):
    """Create the servers one by one, in two orders; neither succeeds."""
    the.show.say(
        'A tenant wants a shop: 6 web servers of 2 VCPU, at most 2 in a rack; '
        '4 app servers of 4 VCPU, each on a host of its own; 3 databases of 8 '
        'VCPU, each in a rack of its own; the last two close to each other. '
        "Nova's server groups can say the rule about hosts, and know no racks."
    )
    _smallest_first(the)
    the.show.line()
    _largest_first(the)


def _smallest_first(the):
    room = the.placement.room(the.large)
    the.show.check(
        f'there is room for a database on {", ".join(room)}', len(room) == 5
    )
    built, failed = _boot(the, (WEB, APP, DB))
    the.show.check(
        f'{len(built)} servers are built, and the first database fails:',
        failed is not None and failed.name == 'db-0',
        failed,
    )
    the.show.quote('Nova', failed.fault['message'])
    free = sum(usage.free for usage in the.placement.usages().values())
    the.show.check(
        f'{free} VCPU are still free, but nowhere 8 of them on one host',
        not the.placement.room(the.large),
    )
    the.tenant.remove([*built, failed])


def _largest_first(the):
    the.show.say('Would it help to begin with the databases?')
    built, failed = _boot(the, (DB,))
    the.show.check('all of them are built', failed is None, failed)
    hosts = [the.operator.host_of(server) for server in built]
    broken = scenario.broken_rules(
        dict(zip(DB.paths, hosts, strict=True)), the.rack_of
    )
    the.show.check(
        f'but not where they should be: {", ".join(broken)}', broken, hosts
    )
    the.tenant.remove(built)


def _boot(the, tiers):
    """Boot the tiers; return the built servers and the failed one or None."""
    built = []
    for tier in tiers:
        hints = None if tier is WEB else the.tenant.keep_apart(tier.name)
        for path in tier.paths:
            server = the.tenant.boot(
                scenario.name_of(path), tier.flavor, scheduler_hints=hints
            )
            if server.status == 'ERROR':
                return built, server
            built.append(server)
    return built, None
