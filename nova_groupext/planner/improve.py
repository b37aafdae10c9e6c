# SPDX-License-Identifier: Apache-2.0
"""Better plans for the rest of the time, and proofs that there are none.

Where the programme with all hosts is small, it mostly goes straight to the
optimum. Elsewhere some more attempts come first, then exact programmes for a
few members at a time while the others stay where they are, and the programme
with all hosts gets what time is left.
"""

import functools

from nova_groupext.planner import ask
from nova_groupext.planner import clock as clocks
from nova_groupext.planner import feasible
from nova_groupext.planner import neighbours

_ATTEMPTS = 40

# Share of the time that a small programme gets before anything else.
_FIRST_SHARE = 0.5

# Share of the time left that attempts may take.
_LITTLE = 0.1

# Share of the time left that neighbourhoods may take.
_SHARE = 0.6

# Seats up to which the programme with all hosts is tried: larger ones would
# need too much memory.
_LARGE = 100_000


def stages(best, attempts, clock):
    """Improve a plan, step by step.

    :param best: best.Best, which is changed
    :param attempts: greedy.Greedy, None if all members are pinned
    :param clock: clock.Clock
    :returns: generator of the stats that change, one for each step
    """
    seats = attempts.seats if attempts else 0
    if seats <= feasible.SMALL:
        is_proved = yield from _prove(best, clock, _FIRST_SHARE)
        if is_proved or not seats or not clock.left():
            return
    elif best.is_perfect and not _has_scores(best.problem):
        yield {'cut_short': clock.has_struck}
        return
    yield from _attempt(best, attempts, clock)
    yield from _look_around(best, clock)
    if seats <= _LARGE and ask.has_time_for(seats, clock):
        yield from _prove(best, clock)


def _has_scores(problem):
    return any(
        score
        for member_class in problem.classes.values()
        for score in member_class.scores.values()
    )


def _attempt(best, attempts, clock):
    """More of what is quick."""
    clock = clock.slice(clock.left() * _LITTLE)
    for _ in range(_ATTEMPTS):
        plan = attempts.attempt(clock=clock)
        if plan is not None and best.offer(plan):
            yield {'stage': 'greedy', 'cut_short': True}
        if not clock.left():
            break


def _look_around(best, clock):
    """A few members at a time, until nothing gets better."""
    some_time = clock.slice(clock.left() * _SHARE)
    for plan in neighbours.search(best, some_time):
        if best.offer(plan):
            yield {'stage': 'neighbours', 'cut_short': True}


def _prove(best, clock, share=1):
    """One objective after the other, over all hosts.

    :param share: of the time left, for the objectives
    :returns: generator of stats; it returns whether the plan is the best
    """
    from nova_groupext.planner.exact import objectives
    from nova_groupext.planner.exact import ties

    some_time = clock.slice(clock.left() * share)
    try:
        exact = objectives.Exact(best.problem, some_time)
    except clocks.OutOfTime:
        return False
    exact.start_from(best.plan)
    for stage, step in (
        ('members', exact.place_members),
        ('cost', exact.cut_cost),
        ('preference', exact.raise_preference),
    ):
        _do(step, exact)
        # Where plans are equal, which it is depends on what came before.
        yield _note(best, exact, stage, clock.has_struck)
    is_proved = exact.is_proved
    if is_proved and ties.is_worth_it(exact):
        exact.go_on(clock)
        _do(functools.partial(ties.settle, exact), exact)
        yield _note(best, exact, 'ties')
    return is_proved


def _do(step, exact):
    """Do a step as far as there is time for it."""
    try:
        step()
    except clocks.OutOfTime:
        exact.is_proved = False


def _note(best, exact, stage, is_cut_short=False):
    best.take(exact.plan, exact.rank, exact.bound)
    return {
        'stage': stage,
        'cut_short': is_cut_short or not exact.is_proved,
    }
