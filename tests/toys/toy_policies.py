# SPDX-License-Identifier: Apache-2.0
"""Policy types that another package adds; the fixture installs a copy."""

from nova_groupext.solver.policies import base


class Leader(base.Policy):
    """The first placed member has its domain for itself.

    A name, a noun and a meaning: each other member in its domain costs 1.
    """

    type = 'leader'
    noun = 'leader isolation'

    def violation(self, view):
        hosts = view.hosts
        if not hosts:
            return 0
        leader = view.domain(hosts[min(hosts)])
        return view.counts[leader] - 1


class Batches(base.Policy):
    """Every domain holds whole batches.

    The violation is a sum over domains, and a parameter is declared.
    """

    type = 'batches'
    noun = 'batches'

    size_of_batch: int = base.parameter(base.COUNT, default=2)

    def domain_violation(self, number):
        return -number % self.size_of_batch
