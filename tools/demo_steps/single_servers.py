# SPDX-License-Identifier: Apache-2.0
"""Steps 1 and 2: a nearly full cloud, and Nova without groups."""

from demo_steps import scenario

APP, DB, WEB = scenario.APP, scenario.DB, scenario.WEB


def fill(demo):
    """Create servers until the free capacity is ``scenario.FREE``."""
    free = [vcpus for rack in scenario.FREE.values() for vcpus in rack]
    others = [
        demo.operator.occupy(host, host.vcpus - vcpus)
        for host, vcpus in zip(demo.hosts, free, strict=True)
    ]
    states = {demo.operator.built(server).status for server in others}
    demo.show.check(
        f'{len(others)} servers of other people run', states == {'ACTIVE'}
    )
    demo.draw()
    usages = demo.placement.usages()
    demo.show.check(
        f'{sum(free)} VCPU are free, spread as intended',
        [usages[host.name].free for host in demo.hosts] == free,
        usages,
    )


def one_by_one(demo):
    """Create the servers one by one, in two orders; neither succeeds."""
    demo.show.say(
        'A tenant wants a shop: 6 web servers of 2 VCPU, at most 2 in a rack; '
        '4 app servers of 4 VCPU, each on a host of its own; 3 databases of 8 '
        'VCPU, each in a rack of its own; the last two close to each other. '
        "Nova's server groups can say the rule about hosts, and know no racks."
    )
    _smallest_first(demo)
    demo.show.line()
    _largest_first(demo)


def _smallest_first(demo):
    candidates = demo.placement.hosts_for(demo.large)
    demo.show.check(
        f'there is room for a database on {", ".join(candidates)}',
        len(candidates) == 5,
    )
    built, failed = _boot(demo, (WEB, APP, DB))
    demo.show.check(
        f'{len(built)} servers are built, and the first database fails:',
        failed is not None and failed.name == 'db-0',
        failed,
    )
    demo.show.quote('Nova', failed.fault['message'])
    free = sum(usage.free for usage in demo.placement.usages().values())
    demo.show.check(
        f'{free} VCPU are still free, but nowhere 8 of them on one host',
        not demo.placement.hosts_for(demo.large),
    )
    demo.tenant.remove([*built, failed])


def _largest_first(demo):
    demo.show.say('Would it help to begin with the databases?')
    built, failed = _boot(demo, (DB,))
    demo.show.check('all of them are built', failed is None, failed)
    hosts = [demo.operator.host_of(server) for server in built]
    broken = scenario.broken_rules(
        dict(zip(DB.paths, hosts, strict=True)), demo.rack_of
    )
    demo.show.check(
        f'but not where they should be: {", ".join(broken)}', broken, hosts
    )
    demo.tenant.remove(built)


def _boot(demo, tiers):
    """Boot the tiers; return the built servers and the failed one or None."""
    built = []
    for tier in tiers:
        hints = None if tier is WEB else demo.tenant.keep_apart(tier.name)
        for path in tier.paths:
            server = demo.tenant.boot(
                scenario.name_of(path), tier.flavor, scheduler_hints=hints
            )
            if server.status == 'ERROR':
                return built, server
            built.append(server)
    return built, None
