# SPDX-License-Identifier: Apache-2.0
"""Changes with which the whole problem has a plan, least intrusive first.

A policy of the core made soft leaves out nobody, so it comes first; then
fewer members, the fewest left out first. If no single change will do, the
problem has several conflicts, and one change of each is made.
"""

import collections
import dataclasses
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
        self._helpers = helpers.Helpers(questions, tags)
        self._helps = self._helpers.helps
        self._closest = self._helpers.closest
        self._found = {}
        self._blamed = frozenset(tags)

    def by_one_change(self):
        """Policies made soft one by one, then members left out."""
        if self._helpers.is_in_vain:
            return []
        return self._by_and_by(self._find_single)

    def by_several_changes(self):
        """Changes of several conflicts, made together."""
        if self._helpers.is_hopeless:
            return []
        return self._by_and_by(self._find_several)

    def _by_and_by(self, find):
        """Ask everything in haste, then what is open with more patience.

        So a question that takes long is no reason to leave out those that
        do not.

        :param find: gives what helps, a list of changes
        """
        found = []
        for patience in self._helpers.levels:
            self._helpers.patience = patience
            found = find() or found
        return found

    def _find_single(self):
        tags = self._tags
        softer = [changes.Change(rules=(rule,)) for rule in _rules(tags)]
        softer.sort(key=self._covered)
        fewer = self._find_fewer(tags)
        return list(filter(self._helps, softer)) + fewer

    def _find_fewer(self, tags):
        """Changes that leave out members of a conflict, the fewest first."""
        paths = _paths(tags)
        single = [((path,), changes.Change) for path in paths[:_MOST_SETS]]
        wide = [(some, changes.OfClass) for some in self._by_class(tags)]
        if len(paths) > 1 and all(len(some) < len(paths) for some, _ in wide):
            wide.append((tuple(paths), changes.Change))
        # If one set is not enough, what leaves out of all is to get further.
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
        """Whom the search for a plan left out, as few of them as can be."""
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
        change = changes.Change(least=least)
        return [self._grow(change)] if self._helps(change) else []

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
        paths, rules = tuple(_paths(tags)), tuple(_rules(tags))
        found = tags and self._largest(paths, rules=rules)
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
                self._helpers.use(self._questions.plan)
                self._closest = self._closest or self._questions.closest
                return found
            tags = cores.narrow(self._questions, rest)
            self._blamed = self._blamed.union(tags)
            picked = pick(tags)
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
        is_hasty = self._helpers.patience == helpers.MOVE
        if best is not None and len(paths) > 1 and not is_hasty:
            best = self._grow(best)
        # What was asked with patience was not asked in the same order.
        key = paths, rules
        known = [c for c in (self._found.get(key), best) if c is not None]
        self._found[key] = min(known, key=self._loss, default=None)
        return self._found[key]

    def _grow(self, change):
        """Of one set of members after the other, as many more as help."""
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
        """The change by the largest number below ``end`` that helps.

        :param change: gives the change that belongs to a number from 0 on
        :param known: the change by 0 if that helps
        :returns: None if not even 0 helps
        """
        if known is None:
            if not self._helps(change(0)):
                return None
            known = change(0)
        if self._questions.is_late():
            return known
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
        """A number from which on bounds exclude the changes.

        Only those that conflicts are about are looked at: all take long.
        """
        low, high = 0, end
        while high - low > 1:
            middle = (low + high) // 2
            problem = change(middle).apply(self._problem)
            problem = tag.keep(problem, self._blamed)
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
