# SPDX-License-Identifier: Apache-2.0
"""Changes with which the whole problem has a plan, least intrusive first.

A policy of the core made soft leaves out nobody, so it comes first; then
fewer members, the fewest left out first. If no single change will do, the
problem has several conflicts, and one change of each is made.
"""

import collections
import itertools
import math

from nova_groupext.planner import bounds
from nova_groupext.planner import tags as tag
from nova_groupext.planner.explain import changes
from nova_groupext.planner.explain import core as cores
from nova_groupext.planner.explain import helpers

# Further conflicts that are looked for, and combinations that are tried.
_MOST_CONFLICTS = 8
_MOST_TRIES = 12

# Member sets of a conflict that are tried one by one.
_MOST_SETS = 20


def menu(questions, core):
    """Changes that are verified to help.

    :param questions: questions.Questions about the problem
    :param core: core.Core of the problem
    :returns: list of the answer's relaxations
    """
    relax = _Relax(questions, core.tags)
    found = relax.by_one_change(core.tags) or relax.by_several_changes()
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
        self._stems = {s.path: s for s in self._problem.topology.stems}
        self._helpers = helpers.Helpers(questions, tags)
        self._helps = self._helpers.helps_alone

    def by_one_change(self, tags):
        """Policies made soft one by one, then members left out."""
        softer = [changes.Change(rules=(rule,)) for rule in _rules(tags)]
        softer.sort(key=self._covered)
        softer = list(filter(self._helps, softer))
        fewer = [self._largest((p,)) for p in _paths(tags)[:_MOST_SETS]]
        fewer = [change for change in fewer if change]
        least = min((c.lost(self._problem) for c in fewer), default=math.inf)
        for paths in self._by_class(tags):
            change = self._largest(paths, changes.OfClass)
            if change and change.lost(self._problem) < least:
                fewer.append(change)
        return softer + sorted(fewer, key=self._loss)

    def by_several_changes(self):
        """Changes of several conflicts, made together."""
        if self._helpers.is_hopeless:
            return []
        self._helps = self._helpers.helps
        return self._by_softening() + self._by_leaving_out() or self._by_both()

    def _by_softening(self):
        """Policies of several conflicts made soft together."""
        sets = self._conflicts(_rules)
        if not sets:
            return []
        some = itertools.islice(itertools.product(*sets), _MOST_TRIES)
        tries = [changes.Change(rules=rules) for rules in some]
        every = changes.Change(rules=tuple(itertools.chain(*sets)))
        return list(filter(self._helps, tries)) or list(
            filter(self._helps, [every])
        )

    def _by_leaving_out(self):
        """Members of several conflicts left out together."""
        return self._fewer(self._conflicts(_members))

    def _by_both(self):
        """Policies made soft; where a conflict has none, members left out."""
        return self._fewer(
            self._conflicts(lambda tags: _rules(tags) or _members(tags))
        )

    def _fewer(self, sets):
        tags = list(itertools.chain(*sets))
        found = tags and self._largest(_paths(tags), rules=tuple(_rules(tags)))
        return [found] if found else []

    def _conflicts(self, pick):
        """What is picked of every conflict, until there is a plan without it.

        :param pick: gives some of a list of tags
        :returns: list of lists of tags, empty if it does not come to that
        """
        rest = tag.of(self._problem)
        found = []
        while len(found) < _MOST_CONFLICTS:
            if not self._questions.is_impossible(rest):
                return found
            picked = pick(cores.narrow(self._questions, rest))
            if not picked:
                break
            found.append(picked)
            rest = [each for each in rest if each not in picked]
        return []

    # -- what helps --------------------------------------------------------

    def _largest(self, paths, kind=changes.Change, rules=()):
        """The change of some stems that leaves out fewest, None if none helps.

        All shrink in proportion at first, then each grows as far as it can.

        :param rules: what becomes soft as well
        """
        most = [(path, self._stems[path].min_count) for path in paths]
        total = sum(number for _, number in most)

        def shrunk(number):
            least = tuple((p, n * number // total) for p, n in most)
            return kind(rules, least)

        best = self._bisect(shrunk, total)
        if best is None or len(paths) == 1:
            return best
        for place, (path, number) in enumerate(most):
            before, after = best.least[:place], best.least[place + 1 :]
            _, low = best.least[place]

            def grown(more, rest=(path, low, before, after)):
                path, low, before, after = rest
                return kind(rules, (*before, (path, low + more), *after))

            best = self._bisect(grown, number - low + 1, best)
        return best

    def _bisect(self, change, end, known=None):
        """The change by the largest number below ``end`` that helps.

        :param change: gives the change that belongs to a number from 0 on
        :param known: the change by 0 if that helps
        :returns: None if not even 0 helps
        """
        if known is None:
            if not self._helps(change(0)):
                return None
            known = change(0)
        low, high = 0, self._limit(change, end)
        # What bounds do not exclude often fits at once.
        number = high - 1
        while low < number:
            if self._helps(change(number)):
                low, known = number, change(number)
            else:
                high = number
            number = (low + high) // 2
        return known

    def _limit(self, change, end):
        """A number from which on bounds exclude the changes."""
        low, high = 0, end
        while high - low > 1:
            middle = (low + high) // 2
            problem = change(middle).apply(self._problem)
            if bounds.impossible(problem, self._questions.cloud) is None:
                low = middle
            else:
                high = middle
        return high

    # -- order -------------------------------------------------------------

    def _by_class(self, tags):
        """Paths of the core's stems that share their class, if several do."""
        groups = collections.defaultdict(list)
        for path in _paths(tags):
            groups[self._stems[path].spec['class']].append(path)
        return [tuple(paths) for paths in groups.values() if len(paths) > 1]

    def _covered(self, change):
        """How many members a change of policies is about."""
        policies = tag.policies(self._problem, change.rules)
        return len(
            set(itertools.chain(*(s for p in policies for s in p.sides)))
        )

    def _loss(self, change):
        return change.lost(self._problem), change.least


def _rules(tags):
    return [each for each in tags if isinstance(each, tag.Rule)]


def _members(tags):
    return [each for each in tags if isinstance(each, tag.Members)]


def _paths(tags):
    return [each.path for each in _members(tags)]
