# SPDX-License-Identifier: Apache-2.0
"""Look-ahead: which domains have room for members that go together."""

import numpy as np


def rank(setting, guard, hosts, wanted, noise):
    """Domains that may take all of some units, the fullest first.

    :param guard: guards.Guard, of whose scope the domains are
    :param hosts: unit -> numbers of the hosts it may use
    :param wanted: unit -> how many members
    :param noise: by host, factor by which to stray from the order
    :returns: numbers of the domains; those left out are too small
    """
    count = len(guard.domains)
    board = setting.board
    enough = np.ones(count, bool)
    needed = np.zeros(len(board.resources))
    fits = np.zeros(len(board.hosts), bool)
    for unit, some in hosts.items():
        inside = some[guard.domain_of[some] >= 0]
        fits[inside] = True
        room = np.bincount(
            guard.domain_of[inside], setting.at_most(unit, inside), count
        )
        enough &= room >= wanted[unit]
        needed += board.need_of(unit) * wanted[unit]
    load = _load(guard, board, np.flatnonzero(fits), needed)
    enough &= load <= 1
    enough &= _fitting(setting, guard, hosts.keys())
    order = np.argsort(-load * noise[guard.firsts], kind='stable')
    return order[enough[order]]


def room(setting, guard, wanted):
    """How many of a guard's members each domain takes, about.

    :returns: array of whole numbers, by domain
    """
    members = sum(wanted[unit] for unit in guard.units)
    share = np.zeros(len(setting.board.hosts))
    for unit in guard.units:
        hosts = setting.hosts(unit)
        # A host that takes none of these takes more of the others.
        takes = np.full(len(share), 0.5)
        takes[hosts] = setting.at_most(unit, hosts)
        share += wanted[unit] / takes
    by_host = np.where(share < 2 * members, members / (share + 1e-9), 0)
    inside = guard.domain_of >= 0
    total = np.bincount(
        guard.domain_of[inside], by_host[inside], len(guard.domains)
    )
    return (total + 1e-6).astype(np.int64)


def _fitting(setting, guard, units):
    """By domain: whether all that is known to fit somewhere fits there."""
    fitting = np.ones(len(guard.domains), bool)
    for other, domains in setting.fitting.items():
        if other is guard or other.units <= units:
            some = np.zeros(len(fitting) + 1, bool)
            for domain in domains:
                some[guard.domain_of[other.domains[domain]]] = True
            fitting &= some[:-1]
    return fitting


def _load(guard, board, hosts, needed):
    """Share of each domain's free amounts that is needed, at the worst."""
    load = np.zeros(len(guard.domains))
    for amounts, need in zip(board.free[hosts].T, needed, strict=True):
        free = np.bincount(guard.domain_of[hosts], amounts, len(load))
        load = np.maximum(load, need / np.maximum(1, free))
    return load
