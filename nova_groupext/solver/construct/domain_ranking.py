# SPDX-License-Identifier: Apache-2.0
"""Look-ahead: domains with capacity for members that share one."""

import numpy as np


def rank(state, propagator, hosts, wanted, noise):
    """Return the domains that may take all of some classes, tightest first.

    :param propagator: propagators.Propagator whose scope the domains have
    :param hosts: equivalence class -> numbers of the hosts it may use
    :param wanted: equivalence class -> number of members
    :param noise: by host, factor on the load of the domain it is the first of
    :returns: numbers of the domains without those that are too small
    """
    count = len(propagator.domains)
    matrices = state.matrices
    enough = np.ones(count, bool)
    needed = np.zeros(len(matrices.resources))
    fits = np.zeros(len(matrices.hosts), bool)
    for unit, some in hosts.items():
        inside = some[propagator.domain_of[some] >= 0]
        fits[inside] = True
        room = np.bincount(
            propagator.domain_of[inside], state.at_most(unit, inside), count
        )
        enough &= room >= wanted[unit]
        needed += matrices.need_of(unit) * wanted[unit]
    load = _load(propagator, matrices, np.flatnonzero(fits), needed)
    enough &= load <= 1
    enough &= _fitting(state, propagator, hosts.keys())
    order = np.argsort(-load * noise[propagator.firsts], kind='stable')
    return order[enough[order]]


def room(state, propagator, wanted):
    """Estimate the number of a propagator's members that each domain takes.

    :returns: array of whole numbers, by domain
    """
    members = sum(wanted[unit] for unit in propagator.units)
    share = np.zeros(len(state.matrices.hosts))
    for unit in propagator.units:
        hosts = state.hosts(unit)
        # Not 0: a host that takes none of this class takes more of others.
        takes = np.full(len(share), 0.5)
        takes[hosts] = state.at_most(unit, hosts)
        share += wanted[unit] / takes
    by_host = np.where(share < 2 * members, members / (share + 1e-9), 0)
    inside = propagator.domain_of >= 0
    total = np.bincount(
        propagator.domain_of[inside], by_host[inside], len(propagator.domains)
    )
    return (total + 1e-6).astype(np.int64)


def _fitting(state, propagator, units):
    """Return by domain whether it agrees with all that `fitting` knows."""
    fitting = np.ones(len(propagator.domains), bool)
    for other, domains in state.fitting.items():
        if other is propagator or other.units <= units:
            some = np.zeros(len(fitting) + 1, bool)
            for domain in domains:
                some[propagator.domain_of[other.domains[domain]]] = True
            fitting &= some[:-1]
    return fitting


def _load(propagator, matrices, hosts, needed):
    """Return by domain the greatest needed share of a free resource."""
    load = np.zeros(len(propagator.domains))
    for amounts, need in zip(matrices.free[hosts].T, needed, strict=True):
        free = np.bincount(propagator.domain_of[hosts], amounts, len(load))
        load = np.maximum(load, need / np.maximum(1, free))
    return load
