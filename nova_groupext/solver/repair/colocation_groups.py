# SPDX-License-Identifier: Apache-2.0
"""Colocation groups: members that must share a domain, and candidates."""

import contextlib
import dataclasses

import numpy as np

from nova_groupext.solver.exact import feasibility
from nova_groupext.solver.exact.proof import Proof
from nova_groupext.solver.model import subproblem
from nova_groupext.solver.model import time_budget
from nova_groupext.solver.repair import bottlenecks

# Levels with more domains than this have small ones, in which colocation
# groups are likely to compete.
_MAX_LARGE_DOMAINS = 8

# Constructions before the integer program runs, and its seconds.
_MAX_CONSTRUCTIONS = 3
_SECONDS = 0.4

# Limit on hosts, summed over bottleneck classes; above it they are ignored.
_MAX_BOTTLENECK_HOSTS = 3_000


class ColocationGroups:
    """Colocation groups of a problem, each considered without other members.

    :ivar domains: OneDomain propagator without a domain -> numbers of the
        domains that are not too small for all of its members
    :ivar fitting: the same -> numbers of the domains where a construction
        placed them; all of these if domains are large or the time ran out
    :ivar bottleneck_classes: equivalence.EquivalenceClass objects of
        bottleneck classes in no colocation group
    :ivar bottleneck_hosts: by host number: whether such a class may use it
    """

    def __init__(self, greedy, budget):
        """Find the domains that are large enough for each group.

        :param greedy: squeaky_wheel.SqueakyWheel
        :param budget: time_budget.TimeBudget; groups without time are ignored
        """
        self._greedy = greedy
        self._problem = greedy.problem
        self._state = greedy.state
        self.bottleneck_classes = self._find_bottleneck_classes()
        self.bottleneck_hosts = np.zeros(len(self._state.matrices.hosts), bool)
        for eq_class in self.bottleneck_classes:
            self.bottleneck_hosts[self._state.hosts(eq_class)] = True
        self.domains, self.fitting = {}, {}
        for propagator in self._state.propagators:
            if (
                propagator.needs_domain
                and propagator.policy.strict
                and budget.remaining()
            ):
                domains = self._rank_domains(propagator)
                if propagator.eq_classes and len(domains):
                    self.domains[propagator] = list(domains)
                    self.fitting[propagator] = self._find_fitting_domains(
                        propagator, budget
                    )

    def has_bottlenecks(self, propagator, domain):
        """Check whether a domain is small and has bottleneck hosts."""
        return (
            has_small_domains(propagator)
            and self.bottleneck_hosts[propagator.domains[domain]].any()
        )

    def can_fit(self, prescribed, budget):
        """Check whether colocation groups fit into their domains together.

        :param prescribed: propagator of some groups -> number of its domain
        :param budget: time_budget.TimeBudget
        """
        eq_classes = [
            eq_class
            for eq_class in self._state.eq_classes
            if any(
                eq_class in propagator.eq_classes for propagator in prescribed
            )
        ]
        has_bottlenecks = any(
            self.has_bottlenecks(*item) for item in prescribed.items()
        )
        if not has_bottlenecks and self._assign(
            prescribed, eq_classes, budget
        ):
            return True
        problem = self._build_subproblem(
            prescribed, eq_classes, self.bottleneck_classes * has_bottlenecks
        )
        verdict = feasibility.solve(
            problem, budget.slice(_SECONDS), proof=Proof.NEEDLESS
        )
        return verdict.plan is not None

    def _build_subproblem(self, prescribed, eq_classes, bottleneck_classes):
        """Return the problem of groups in their domains, and of bottlenecks.

        It has no policies of bottleneck classes: interchangeable members need
        fewer variables.
        """
        host_ids = self._state.matrices.hosts
        hosts = {}
        for eq_class in eq_classes:
            domains = [
                propagator.domains[domain]
                for propagator, domain in prescribed.items()
                if eq_class in propagator.eq_classes
            ]
            hosts[eq_class] = {
                host_ids[host] for host in min(domains, key=len)
            }
        bound_paths = {
            path for eq_class in eq_classes for path in eq_class.members
        }
        free_paths = {
            path
            for eq_class in bottleneck_classes
            for path in eq_class.members
        }
        others = self._problem.movable - bound_paths - free_paths
        part = subproblem.remove_members(self._problem, others)
        policies = tuple(
            policy
            for policy in part.topology.policies
            if free_paths.isdisjoint(policy.paths)
        )
        topology = dataclasses.replace(part.topology, policies=policies)
        part = dataclasses.replace(part, topology=topology)
        return subproblem.restrict_hosts(part, hosts)

    def _assign(self, prescribed, eq_classes, budget):
        """Check whether a construction places all members of some groups."""
        with self._state.with_domains(prescribed):
            for _ in range(_MAX_CONSTRUCTIONS):
                construction = self._greedy.create_construction(budget)
                try:
                    if not construction.assign_possible(
                        self._greedy.order(eq_classes)
                    ):
                        return True
                except time_budget.OutOfTime:
                    return False
                finally:
                    construction.undo()
        return False

    def _rank_domains(self, propagator):
        # Domains in which constructions failed may fit all the same.
        with self._state.without_memory():
            order = self._greedy.order(propagator.eq_classes)
            return self._greedy.create_construction().rank_domains(
                propagator, order
            )

    def _find_fitting_domains(self, propagator, budget):
        if has_small_domains(propagator):
            with contextlib.suppress(time_budget.OutOfTime):
                return set(
                    self._greedy.find_fitting_domains(propagator, budget) or ()
                )
        return set(self.domains[propagator])

    def _find_bottleneck_classes(self):
        eq_classes = bottlenecks.find(self._state, self._greedy.min_demand)
        matrices = self._state.matrices
        hosts = {
            matrices.class_of[eq_class]: len(self._state.hosts(eq_class))
            for eq_class in eq_classes
        }
        return (
            eq_classes if sum(hosts.values()) <= _MAX_BOTTLENECK_HOSTS else []
        )


def has_small_domains(propagator):
    """Check whether the domains of a propagator are small."""
    return len(propagator.domains) > _MAX_LARGE_DOMAINS
