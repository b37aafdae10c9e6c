# SPDX-License-Identifier: Apache-2.0
"""Flavors and host aggregates, created through Nova's API."""

#: {name: (VCPU, MiB of memory, GiB of disk)}.
FLAVORS = {
    'm1.tiny': (1, 512, 1),
    'm1.small': (1, 2048, 20),
    'm1.medium': (2, 4096, 40),
    'm1.large': (4, 8192, 80),
    'm1.xlarge': (8, 16384, 160),
}


def flavors(nova):
    """Create those flavors of ``FLAVORS`` that are missing."""
    known = {flavor.name for flavor in nova.flavors.list()}
    for name, (vcpus, ram, disk) in FLAVORS.items():
        if name not in known:
            nova.flavors.create(name, ram, vcpus, disk)


def aggregates(nova, hosts):
    """Create missing host aggregates for racks and zones, and add the hosts.

    The aggregate of a rack is ``rack-r1`` with the metadata ``rack=r1``, of a
    zone ``zone-az1`` with the availability zone ``az1``.
    """
    known = {each.name: each for each in nova.aggregates.list()}
    for host in hosts:
        _join(nova, known, f'rack-{host.rack}', {'rack': host.rack}, host)
        zone = {'availability_zone': host.zone}
        _join(nova, known, f'zone-{host.zone}', zone, host)


def _join(nova, known, name, metadata, host):
    if name not in known:
        made = nova.aggregates.create(name, metadata.get('availability_zone'))
        known[name] = nova.aggregates.set_metadata(made, metadata)
    if host.name not in known[name].hosts:
        known[name] = nova.aggregates.add_host(known[name], host.name)
