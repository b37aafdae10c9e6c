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
    existing = {flavor.name for flavor in nova.flavors.list()}
    for name, (vcpus, ram, disk) in FLAVORS.items():
        if name not in existing:
            nova.flavors.create(name, ram, vcpus, disk)


def aggregates(nova, hosts):
    """Create missing host aggregates for racks and zones, and add the hosts.

    The aggregate of a rack is ``rack-r1`` with the metadata ``rack=r1``, of a
    zone ``zone-az1`` with the availability zone ``az1``.
    """
    existing = {each.name: each for each in nova.aggregates.list()}
    for host in hosts:
        _add_host(
            nova, existing, f'rack-{host.rack}', {'rack': host.rack}, host
        )
        zone = {'availability_zone': host.zone}
        _add_host(nova, existing, f'zone-{host.zone}', zone, host)


def _add_host(nova, existing, name, metadata, host):
    if name not in existing:
        created = nova.aggregates.create(
            name, metadata.get('availability_zone')
        )
        existing[name] = nova.aggregates.set_metadata(created, metadata)
    if host.name not in existing[name].hosts:
        existing[name] = nova.aggregates.add_host(existing[name], host.name)
