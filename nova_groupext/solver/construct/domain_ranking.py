# SPDX-License-Identifier: Apache-2.0
"""Look-ahead: domains with capacity for members that share one."""

from collections.abc import Mapping
from collections.abc import Set

import numpy as np

from nova_groupext.solver.arrays import Bools
from nova_groupext.solver.arrays import Floats
from nova_groupext.solver.arrays import Ints
from nova_groupext.solver.construct import capacity_matrices
from nova_groupext.solver.construct import propagators
from nova_groupext.solver.construct import search_state
from nova_groupext.solver.model.equivalence import ClassDemand
from nova_groupext.solver.model.equivalence import EquivalenceClass


def rank_domains(
    state: search_state.SearchState,
    propagator: propagators.Propagator,
    hosts: Mapping[EquivalenceClass, Ints],
    demand: ClassDemand,
    perturbation: Floats,
    *,
    only_fitting: bool,
) -> Ints:
    """Return the domains that may take all of some classes, tightest first.

    Domains where constructions have not placed them alone come last.

    :param propagator: propagator whose scope the domains have
    :param hosts: numbers of the hosts that each of the classes may use
    :param perturbation: factor on a domain's load, at its first host's number
    :param only_fitting: whether to leave out the last ones
    :returns: numbers of the domains without those that are too small
    """
    count = len(propagator.domains)
    matrices = state.matrices
    is_large_enough = np.ones(count, bool)
    needed = np.zeros(len(matrices.resources))
    is_usable = np.zeros(len(matrices.hosts), bool)
    for eq_class, candidates in hosts.items():
        is_usable[candidates] = True
        capacity = propagator.level.sum(
            state.limited_capacity(eq_class, candidates), candidates
        )
        is_large_enough &= capacity >= demand[eq_class]
        needed += matrices.need_of(eq_class) * demand[eq_class]
    load = _load(propagator, matrices, np.flatnonzero(is_usable), needed)
    is_large_enough &= load <= 1
    is_fitting = _is_fitting(state, propagator, hosts.keys())
    if only_fitting:
        is_large_enough &= is_fitting
    order = np.lexsort(
        (-load * perturbation[propagator.level.first_hosts], ~is_fitting)
    )
    return order[is_large_enough[order]]


def sort_by_current(
    state: search_state.SearchState,
    propagator: propagators.Propagator,
    members: ClassDemand,
    domains: Ints,
) -> Ints:
    """Return some domains with those first where most members are now."""
    number = state.matrices.number
    # The last entry is for hosts without a domain, whose number is -1.
    counts = np.zeros(len(propagator.domains) + 1)
    for eq_class, count in members.items():
        hosts = [number[host] for host in sorted(eq_class.current)]
        share = count / max(1, len(hosts))
        np.add.at(counts, propagator.domain_of[hosts], share)
    return domains[np.argsort(-counts[domains], kind='stable')]


def estimate_capacity(
    state: search_state.SearchState,
    propagator: propagators.Propagator,
    demand: ClassDemand,
) -> Ints:
    """Estimate the number of a propagator's members that each domain takes."""
    members = sum(demand[eq_class] for eq_class in propagator.eq_classes)
    host_shares = np.zeros(len(state.matrices.hosts))
    for eq_class in propagator.eq_classes:
        hosts = state.hosts(eq_class)
        # Not 0: a host that takes none of this class takes more of others.
        max_counts = np.full(len(host_shares), 0.5)
        max_counts[hosts] = state.limited_capacity(eq_class, hosts)
        host_shares += demand[eq_class] / max_counts
    by_host = np.where(
        host_shares < 2 * members, members / (host_shares + 1e-9), 0
    )
    return (propagator.level.sum(by_host) + 1e-6).astype(np.int64)


def _is_fitting(
    state: search_state.SearchState,
    propagator: propagators.Propagator,
    eq_classes: Set[EquivalenceClass],
) -> Bools:
    """Return by domain whether `fitting` allows all of some classes there."""
    is_fitting = np.ones(len(propagator.domains), bool)
    for other, domains in state.fitting.items():
        if other is propagator or other.eq_classes <= eq_classes:
            overlaps = np.zeros(len(is_fitting) + 1, bool)
            for domain in domains:
                overlaps[propagator.domain_of[other.domains[domain]]] = True
            is_fitting &= overlaps[:-1]
    return is_fitting


def _load(
    propagator: propagators.Propagator,
    matrices: capacity_matrices.CapacityMatrices,
    hosts: Ints,
    needed: Floats,
) -> Floats:
    """Return by domain the greatest needed share of a free resource."""
    load = np.zeros(len(propagator.domains))
    for amounts, need in zip(matrices.free[hosts].T, needed, strict=True):
        free = propagator.level.sum(amounts, hosts)
        load = np.maximum(load, need / np.maximum(1, free))
    return load
