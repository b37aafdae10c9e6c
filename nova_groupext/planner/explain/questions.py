# SPDX-License-Identifier: Apache-2.0
"""Is there a plan if only some tags count?

What is known of some tags answers for others: fewer tags than those of a plan
have a plan too, more tags than those of a proof have none.
"""

from nova_groupext.planner import ask
from nova_groupext.planner import bounds
from nova_groupext.planner import feasible
from nova_groupext.planner import parts
from nova_groupext.planner import proofs
from nova_groupext.planner import sketch
from nova_groupext.planner import tags as tag
from nova_groupext.planner.bounds import pins

# What one question may use up of the time that is left.
_SHARE = 1 / 3


class Questions:
    """What is known of a problem's tags.

    :ivar cloud: the hosts, for bounds
    :ivar is_cut_short: a question was left without an answer
    :ivar plan: the last that was found for some tags, or None
    :ivar closest: when some tags were last asked about and nothing was known:
        a plan that leaves out more members, lawful as far as it goes, or None
    """

    def __init__(self, problem, clock):
        self.problem = problem
        self.clock = clock
        self.is_cut_short = False
        self.plan = None
        self.closest = None
        self.cloud = bounds.Cloud(problem)
        self._possible = []
        self._impossible = []

    def has_plan(self, tags):
        """Whether tags leave a plan; False if that was not found in time."""
        return self._ask(frozenset(tags)) is True

    def is_impossible(self, tags):
        """Whether tags leave no plan; False if that was not proved in time."""
        return self._ask(frozenset(tags)) is False

    def is_excluded(self, tags):
        """Whether bounds tell that tags leave no plan."""
        problem = tag.keep(self.problem, frozenset(tags))
        if bounds.impossible(problem, self.cloud) is None:
            return False
        self.note_impossible(tags)
        return True

    def note_impossible(self, tags):
        """Remember a proof that somebody else has found."""
        self._impossible.append(frozenset(tags))

    def look(self, problem):
        """Compare what has to come of a problem with the room for it.

        :returns: (tags that leave no plan or None, stem path -> share of the
            room that it takes)
        """
        proof, shares, _ = bounds.look(problem, self.cloud)
        if proof is not None:
            self.note_impossible(proof)
        return proof, shares

    def hosts_for(self, problem, paths):
        """Ids of the hosts where one of some members could be if alone."""
        _, _, narrowed = bounds.look(problem, self.cloud)
        classes = {
            id(narrowed.class_of[path]): narrowed.class_of[path]
            for path in paths & narrowed.class_of.keys()
        }
        return {
            host
            for each in classes.values()
            for host in self.cloud.where(each)
        }

    def find(self, problem, share=_SHARE):
        """Look for a plan of any problem.

        :param share: what it may use up of the time that is left
        :returns: ask.Verdict
        """
        if self.is_late():
            return ask.Verdict()
        proof, _, narrowed = bounds.look(problem, self.cloud)
        if proof is not None:
            return ask.Verdict(is_impossible=True)
        if proofs.is_contradiction(problem, self.clock):
            return ask.Verdict(is_impossible=True)
        return self._solve(narrowed, share)

    def glance(self, problem, share):
        """The same where nobody relies on an answer: is_cut_short stays."""
        was_cut_short = self.is_cut_short
        verdict = self.find(problem, share)
        self.is_cut_short = was_cut_short
        return verdict

    def complete(self, problem, plan, share):
        """Try to make a plan of another one; that it fails says nothing.

        :param plan: rules.Plan of some of the members
        :param share: what it may use up of the time that is left
        :returns: rules.Plan or None
        """
        return feasible.complete(problem, plan, self.clock, share)

    def is_ruled_out(self, problem):
        """Whether bounds tell that any problem has no plan."""
        return bounds.impossible(problem, self.cloud) is not None

    def is_late(self):
        """Whether there is no time for another question."""
        if not self.clock.left():
            self.is_cut_short = True
        return not self.clock.left()

    def confirm(self, problem):
        """The same by the exact programme alone, whatever else is known."""
        # What pins break is for the rules to say; the solver trusts them.
        if pins.broken(problem) or self._clash(problem):
            return ask.Verdict(is_impossible=True)
        return self._solve(problem, _SHARE, ask.ask)

    def _clash(self, problem):
        """Whether policies are known to exclude any plan by themselves."""
        if parts.odd(problem) or bounds.impossible(sketch.draw(problem)):
            return proofs.is_contradiction(problem, self.clock, True)
        return False

    def _solve(self, problem, share, solver=None):
        verdict = ask.Verdict()
        seconds = self.clock.left() * share
        if seconds:
            solve = solver or feasible.find
            verdict = solve(problem, self.clock.slice(seconds))
        if verdict.plan is None and not verdict.is_impossible:
            self.is_cut_short = True
        return verdict

    def _ask(self, tags):
        """True: there is a plan. False: there is none. None: not known."""
        if any(tags <= known for known in self._possible):
            return True
        if any(known <= tags for known in self._impossible):
            return False
        verdict = self.find(tag.keep(self.problem, tags))
        if verdict.plan is not None:
            self._possible.append(tags)
            self.plan = verdict.plan
            return True
        if verdict.is_impossible:
            self._impossible.append(tags)
            return False
        self.closest = verdict.closest
        return None
