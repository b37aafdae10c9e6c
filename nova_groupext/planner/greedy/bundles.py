# SPDX-License-Identifier: Apache-2.0
"""Members that have to share a domain, and the domains that may do."""

from nova_groupext.planner.greedy import guards

# Levels with more domains than this have small ones: who is together in one
# is likely to get in one another's way.
_FEW_DOMAINS = 8

# How often members are tried together before they count as not fitting.
_TRIES = 3


class Bundles:
    """The bundles of a problem while nobody else has a seat.

    :ivar domains: guards.Together that waits for a domain -> numbers of the
        domains that may take all of its members
    """

    def __init__(self, finder, clock):
        """Find out who fits where, alone.

        :param finder: greedy.Greedy
        :param clock: clock.Clock; those that it leaves no time for are not
            among the bundles
        """
        self._finder = finder
        self._setting = finder.setting
        self.domains = {}
        for guard in self._setting.guards:
            if guards.waits(guard) and guard.policy.strict and clock.left():
                domains = self._find_domains(guard)
                if guard.units and len(domains):
                    self.domains[guard] = list(domains)

    def fit_together(self, some, domain):
        """Whether an attempt seats some bundles in the same domain."""
        units = {unit for guard in some for unit in guard.units}
        self._setting.homes = dict.fromkeys(some, domain)
        for _ in range(_TRIES):
            attempt = self._finder.prepare()
            left = attempt.seat_most(self._finder.order(units))
            attempt.undo()
            if not left:
                break
        self._setting.homes = {}
        return not left

    def _find_domains(self, guard):
        found = is_narrow(guard) and self._finder.find_fitting(guard)
        order = self._finder.order(guard.units)
        return found or self._finder.prepare().rank(guard, order)


def is_narrow(guard):
    """Whether the domains of a guard are small."""
    return len(guard.domains) > _FEW_DOMAINS
