# SPDX-License-Identifier: Apache-2.0
"""The choices of a run that can make a difference.

Like dynamic partial-order reduction (Flanagan and Godefroid, "Dynamic
Partial-Order Reduction for Model Checking Software", 2005): each run tells
before which of its steps another operation may run instead. There a later
step of that operation conflicts with the step. A run has two preemptions, or
a fault and a preemption.
"""

import collections
import dataclasses
import random

from tests.protocol import interleaving

Choice = interleaving.Choice


@dataclasses.dataclass
class Run:
    """A run with its choices.

    :ivar steps: list of Step; the last ones may be those of an earlier run
        that has reached the same state
    :ivar known_from: number of the first of these
    :ivar states: [(state before a step, number of the step)] that no earlier
        run has reached
    :ivar end: state of the cloud after the last step, None if the rest of the
        run is known
    """

    choices: tuple
    steps: list
    known_from: int = 0
    states: list = dataclasses.field(default_factory=list)
    end: int | None = None


class KnownStates:
    """States from which runs need not be repeated."""

    def __init__(self):
        # {state before a step: (most choices that remained there, Run, number
        # of the step)}
        self._states = {}

    def covers(self, run, number, get_state):
        """Check whether an earlier run covers the rest of a run.

        Then the run gets the steps of that rest.

        :param get_state: function that returns all that determines the rest,
            except choices
        """
        if callable(run.choices) or number < _next_step(run.choices):
            return False
        state = get_state()
        most, *found = self._states.get(state, (-1,))
        if most < _remaining(run.choices):
            run.states.append((state, number))
            self._add(run, state, number)
            return False
        earlier, earlier_number = found
        run.known_from = number
        run.steps += earlier.steps[earlier_number:]
        return True

    def learn(self, run):
        """Add the states of a run that another process has made."""
        for state, number in run.states:
            self._add(run, state, number)

    def _add(self, run, state, number):
        self._states[state] = _remaining(run.choices), run, number


def all_runs(run_group):
    """Make all runs, those with the fewest choices first.

    :param run_group: function of a list of choices that differ in the last
        one; it returns a Run for each
    :returns: iterator of Run
    """
    rng, seen = random.Random(0), set()
    # Choices that remain to be run, {all but the last: list of choices}, by
    # their number
    waiting = [{None: [()], (): [(Choice(0, actor=1),)]}, {}, {}]
    while fewest := next(filter(None, waiting), None):
        group = fewest.pop(rng.choice([*fewest]))
        for done in run_group(group):
            yield done
            for choices in _extensions(done):
                if choices not in seen:
                    seen.add(choices)
                    groups = waiting[len(_added(choices))]
                    groups.setdefault(choices[:-1], []).append(choices)


def _remaining(choices):
    """Rank what may extend some choices; a higher rank permits more.

    0: nothing, 1: a preemption, 2: a preemption or a fault, 3: two choices
    """
    later = _added(choices)
    if len(later) == 1:
        return 1 if later[0].fault else 2
    return 0 if later else 3


def _extensions(run):
    """Yield other choices that make a difference, as a run shows.

    :param run: Run
    """
    yield from _preemptions(run.choices, run.steps, run.known_from)
    if _remaining(run.choices) > 1:
        yield from _faults(run.choices, run.steps, run.known_from)


def _added(choices):
    """Return the choices except that of the operation that begins."""
    return [each for each in choices if each.step]


def _next_step(choices):
    """Return the number of the step after the last choice."""
    return choices[-1].step + 1 if choices else 0


def _faults(choices, steps, known_from):
    """Yield the choices extended by a fault."""
    changed = set()
    for number, step in enumerate(steps[:known_from]):
        if number >= _next_step(choices):
            for fault in interleaving.FAULTS.get(step.kind, ()):
                is_new = {
                    # After a change, it equals a death after that change.
                    'dies-before': step.actor not in changed,
                    # Placement loses records only when it refuses.
                    'loses-records': step.footprint.is_refused,
                }
                if is_new.get(fault, True):
                    yield (*choices, Choice(number, fault=fault))
        if step.kind in ('write', 'sent'):
            changed.add(step.actor)


def _preemptions(choices, steps, known_from):
    """Yield choices with another preemption, before a conflict.

    It may replace the last choices.
    """
    later = _footprints(steps)
    for number in range(1, known_from):
        kept = tuple(each for each in choices if each.step < number)
        if len(_added(kept)) > 1:
            break
        step = steps[number]
        for other in step.others:
            if step.footprint.conflicts_with(later[number][other]):
                yield (*kept, Choice(number, actor=other))


def _footprints(steps):
    """Return [{actor: Footprint of its steps from there on}] for each step."""
    later = [collections.defaultdict(interleaving.Footprint)]
    for step in reversed(steps):
        union = interleaving.Footprint()
        union.add(step.footprint)
        union.add(later[0][step.actor])
        later.insert(0, later[0] | {step.actor: union})
    return later
