# SPDX-License-Identifier: Apache-2.0
"""Search for relaxations with which the whole problem has a plan.

The least intrusive come first: a softened policy of the conflict leaves out no
member; then lower minimums, the smallest loss first. If no single relaxation
helps, the problem has several conflicts, and one relaxation of each is made.
"""

import collections
import dataclasses
import itertools
import math

from nova_groupext.solver import bounds
from nova_groupext.solver.explain import corrections
from nova_groupext.solver.explain import minimal_conflict
from nova_groupext.solver.explain import relaxed_plans
from nova_groupext.solver.model import assumptions

# Limits on further conflicts, and on combinations of softened policies.
_MOST_CONFLICTS = 8
_MOST_TRIES = 12

# Limit on member sets of a conflict that are relaxed one by one.
_MOST_SETS = 20


def find_corrections(questions, core):
    """Return relaxations that are verified to help.

    :param questions: feasibility_oracle.Oracle of the problem
    :param core: minimal_conflict.Conflict of the problem
    :returns: list of the answer's relaxations
    """
    relax = _Relax(questions, core.tags)
    found = (
        relax.by_one_change()
        or relax.by_several_changes()
        or relax.by_leaving_out_more()
    )
    return [
        {
            'change': change.to_dict(questions.problem),
            'text': f'fits {change.text(questions.problem)}',
        }
        for change in found
    ]


class _Relax:
    def __init__(self, questions, tags):
        self._questions = questions
        self._problem = questions.problem
        self._tags = tags
        self._stems = {s.path: s for s in self._problem.topology.stems}
        self._helpers = relaxed_plans.RelaxedPlans(questions, tags)
        self._helps = self._helpers.helps
        self._closest = self._helpers.closest
        self._found = {}
        self._blamed = frozenset(tags)

    def by_one_change(self):
        """Return relaxations of the conflict: soft policies, fewer members."""
        if self._helpers.is_in_vain:
            return []
        return self._by_and_by(self._find_single)

    def by_several_changes(self):
        """Return relaxations of several conflicts at once."""
        if self._helpers.is_hopeless:
            return []
        return self._by_and_by(self._find_several)

    def _by_and_by(self, find):
        """Run a search at rising effort; return its last non-empty result.

        Each effort level tries every relaxation, so a slow query does not keep
        fast ones from being made.

        :param find: returns a list of relaxations that help
        """
        found = []
        for patience in self._helpers.levels:
            self._helpers.patience = patience
            found = find() or found
        return found

    def _find_single(self):
        tags = self._tags
        softer = [
            corrections.Relaxation(rules=(rule,)) for rule in _rules(tags)
        ]
        softer.sort(key=self._covered)
        fewer = self._find_fewer(tags)
        return list(filter(self._helps, softer)) + fewer

    def _find_fewer(self, tags):
        """Return relaxations that omit members of a conflict, fewest first."""
        paths = _paths(tags)
        single = [
            ((path,), corrections.Relaxation) for path in paths[:_MOST_SETS]
        ]
        wide = [
            (some, corrections.ClassRelaxation)
            for some in self._by_class(tags)
        ]
        if len(paths) > 1 and all(len(some) < len(paths) for some, _ in wide):
            wide.append((tuple(paths), corrections.Relaxation))
        # If only combined sets have helped so far, they get the time first.
        known = {some for (some, _), change in self._found.items() if change}
        is_enough = not known or any(some in known for some, _ in single)
        for some, kind in single + wide if is_enough else wide + single:
            self._largest(some, kind)
        found = [self._found[some, ()] for some, _ in single]
        found = [change for change in found if change]
        least = min((c.lost(self._problem) for c in found), default=math.inf)
        for some, _ in wide:
            change = self._found[some, ()]
            if change and change.lost(self._problem) < least:
                found.append(change)
        return sorted(found, key=self._loss)

    def _find_several(self):
        return self._by_softening() + self._by_leaving_out() or self._by_both()

    def by_leaving_out_more(self):
        """Return a relaxation from the best partial plan, if it helps."""
        plan = self._closest
        if plan is None:
            return []
        here = collections.Counter(
            member.stem
            for member in self._problem.topology.members
            if member.path in plan.placement
        )
        least = tuple(
            (path, here[path])
            for path, stem in self._stems.items()
            if here[path] < stem.min_count
        )
        self._helpers.use(plan)
        change = corrections.Relaxation(least=least)
        return [self._grow(change)] if self._helps(change) else []

    def _by_softening(self):
        """Return combinations of one soft policy per conflict, else all."""
        sets = self._conflicts(_rules)
        if not sets:
            return []
        some = itertools.islice(itertools.product(*sets), _MOST_TRIES)
        tries = [corrections.Relaxation(rules=rules) for rules in some]
        every = corrections.Relaxation(rules=tuple(itertools.chain(*sets)))
        return list(filter(self._helps, tries)) or list(
            filter(self._helps, [every])
        )

    def _by_leaving_out(self):
        """Return a relaxation that omits members of every conflict."""
        return self._fewer(self._conflicts(_members))

    def _by_both(self):
        """Relax the policies of each conflict, or members if it has none."""
        return self._fewer(
            self._conflicts(lambda tags: _rules(tags) or _members(tags))
        )

    def _fewer(self, sets):
        tags = list(itertools.chain(*sets))
        paths, rules = tuple(_paths(tags)), tuple(_rules(tags))
        found = tags and self._largest(paths, rules=rules)
        return [found] if found else []

    def _conflicts(self, pick):
        """Pick assumptions of every conflict, until no further one is proved.

        :param pick: selects some of a list of assumptions
        :returns: list of lists of assumptions; empty if one conflict has none
            to pick or there are too many conflicts
        """
        rest = assumptions.of(self._problem)
        found = []
        while len(found) < _MOST_CONFLICTS:
            if not self._questions.is_impossible(rest):
                self._helpers.use(self._questions.plan)
                self._closest = self._closest or self._questions.closest
                return found
            tags = minimal_conflict.locate(self._questions, rest)
            self._blamed = self._blamed.union(tags)
            picked = pick(tags)
            if not picked:
                break
            found.append(picked)
            rest = [each for each in rest if each not in picked]
        return []

    # -- what helps --------------------------------------------------------

    def _largest(self, paths, kind=corrections.Relaxation, rules=()):
        """Return the relaxation of member sets that omits fewest, or None.

        All sets shrink in proportion; with more effort, each then grows again.

        :param rules: policy assumptions that become soft as well
        """
        most = [(path, self._stems[path].min_count) for path in paths]
        total = sum(number for _, number in most)

        def shrunk(number):
            least = tuple((p, n * number // total) for p, n in most)
            return kind(rules, least)

        best = self._bisect(shrunk, total)
        is_hasty = self._helpers.patience == relaxed_plans.MOVE
        if best is not None and len(paths) > 1 and not is_hasty:
            best = self._grow(best)
        # A higher effort level may do worse, because it asks in another order.
        key = paths, rules
        known = [c for c in (self._found.get(key), best) if c is not None]
        self._found[key] = min(known, key=self._loss, default=None)
        return self._found[key]

    def _grow(self, change):
        """Return a relaxation with the highest minimums, set by set."""
        for place, (path, low) in enumerate(change.least):
            before = change.least[:place]
            after = change.least[place + 1 :]

            def grown(more, rest=(path, low, before, after), known=change):
                path, low, before, after = rest
                least = (*before, (path, low + more), *after)
                return dataclasses.replace(known, least=least)

            number = self._stems[path].min_count
            change = self._bisect(grown, number - low + 1, change)
        return change

    def _bisect(self, change, end, known=None):
        """Return the relaxation of the largest helpful number below ``end``.

        :param change: returns the relaxation of a number from 0 on
        :param known: relaxation of 0 if it helps
        :returns: None if not even 0 helps
        """
        if known is None:
            if not self._helps(change(0)):
                return None
            known = change(0)
        if self._questions.is_late():
            return known
        low, high = 0, self._limit(change, end)
        # The largest number that bounds allow often helps.
        number = high - 1
        while low < number:
            if self._helps(change(number)):
                low, known = number, change(number)
            else:
                high = number
            number = (low + high) // 2
        return known

    def _limit(self, change, end):
        """Return a number from which on bounds exclude the relaxations.

        Only assumptions of known conflicts are checked, to save time.
        """
        low, high = 0, end
        while high - low > 1:
            middle = (low + high) // 2
            problem = change(middle).apply(self._problem)
            problem = assumptions.restrict_to(problem, self._blamed)
            if bounds.impossible(problem, self._questions.cloud) is None:
                low = middle
            else:
                high = middle
        return high

    # -- order -------------------------------------------------------------

    def _by_class(self, tags):
        """Return paths of the conflict's member sets, by shared class."""
        groups = collections.defaultdict(list)
        for path in _paths(tags):
            groups[self._stems[path].spec['class']].append(path)
        return [tuple(paths) for paths in groups.values() if len(paths) > 1]

    def _covered(self, change):
        """Return how many members the policies of a relaxation cover."""
        policies = assumptions.policies(self._problem, change.rules)
        return len(
            set(itertools.chain(*(s for p in policies for s in p.sides)))
        )

    def _loss(self, change):
        return change.lost(self._problem), change.least


def _rules(tags):
    return [
        each for each in tags if isinstance(each, assumptions.PolicyAssumption)
    ]


def _members(tags):
    return [
        each for each in tags if isinstance(each, assumptions.MemberAssumption)
    ]


def _paths(tags):
    return [each.path for each in _members(tags)]
