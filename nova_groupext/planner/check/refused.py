# SPDX-License-Identifier: Apache-2.0
"""Does a conflict exclude every plan, is all of it needed, what would help?

Each question is a problem of its own, made from the words of the answer.
"""

import dataclasses

from nova_groupext.planner import ask
from nova_groupext.planner import feasible
from nova_groupext.planner import invalid
from nova_groupext.planner import rules
from nova_groupext.planner import topology
from nova_groupext.planner.bounds import pins
from nova_groupext.planner.check.finding import Finding

# What one question may use up of the time that is left.
_SHARE = 1 / 2


def findings(problem, raw, clock):
    """What is wrong with the answer ``refused``.

    :param clock: clock.Clock
    """
    strange = [
        *_strange_conflict(problem, raw),
        *_strange_changes(problem, raw),
    ]
    yield from strange
    if strange:
        return
    conflict = raw['conflict']
    without_plan = _only(problem, conflict)
    yield from _ask(without_plan, clock, '$.conflict', 'leaves a plan')
    if raw['minimal']:
        for number in range(len(conflict)):
            others = conflict[:number] + conflict[number + 1 :]
            yield from _ask_for_plan(
                _only(problem, others),
                clock,
                f'$.conflict[{number}]',
                'is not needed, so the conflict is not minimal',
            )
    for number, entry in enumerate(raw['relaxations']):
        where = f'$.relaxations[{number}]'
        changed = _change(problem, entry['change'])
        yield from _ask_for_plan(changed, clock, where, 'does not help')


def _ask(problem, clock, where, complaint, is_plan_right=False):
    """The Finding if there is, or is not, a plan."""
    verdict = _find(problem, clock)
    if verdict.plan is not None:
        faults = rules.faults(problem, verdict.plan)
        if faults:
            raise RuntimeError(f'unlawful: {faults}')
    elif not verdict.is_impossible:
        yield Finding(where, 'was not verified in time', is_fault=False)
        return
    if (verdict.plan is not None) is not is_plan_right:
        yield Finding(where, complaint)


def _find(problem, clock):
    """Look for a plan as long as one question may take."""
    if pins.broken(problem):
        # The solver takes it for granted that pins keep the policies.
        return ask.Verdict(is_impossible=True)
    return feasible.find(problem, clock.slice(clock.left() * _SHARE))


def _ask_for_plan(problem, clock, where, complaint):
    return _ask(problem, clock, where, complaint, is_plan_right=True)


def _only(problem, conflict):
    """The problem with nothing to be kept but what a conflict names."""
    kept = {_rule_of(item) for item in conflict}
    needed = {_path_of(item) for item in conflict}
    stems = [
        stem if stem.path in needed else dataclasses.replace(stem, min_count=0)
        for stem in problem.topology.stems
    ]
    policies = [p for p in _strict(problem) if _rule(p) in kept]
    return _with(problem, policies, stems)


def _change(problem, change):
    """The problem after a change."""
    parts = _parts(change)
    softer = {_rule_of(part) for part in parts}
    least = {path: n for part in parts for path, n in _least(part).items()}
    return _with(
        problem,
        [policy for policy in _strict(problem) if _rule(policy) not in softer],
        [
            dataclasses.replace(
                stem,
                min_count=min(
                    stem.min_count, least.get(stem.path, stem.count)
                ),
            )
            for stem in problem.topology.stems
        ],
    )


def _with(problem, policies, stems):
    """The problem with other stems and policies, all of which are strict."""
    useful = {path for p in policies for side in p.sides for path in side}
    useful.update(problem.pinned)
    # Who neither has to come nor is of use to others does not come.
    stems = [
        stem
        for stem in stems
        if stem.min_count or any(m.path in useful for m in stem.members)
    ]
    return dataclasses.replace(
        problem,
        topology=dataclasses.replace(
            problem.topology,
            policies=tuple(policies),
            stems=tuple(stems),
            members=tuple(m for stem in stems for m in stem.members),
        ),
    )


def _strange_conflict(problem, raw):
    """Words of the conflict that do not fit the problem."""
    if not raw['conflict']:
        yield Finding('$.conflict', 'must name something')
    for number, item in enumerate(raw['conflict']):
        where = f'$.conflict[{number}]'
        yield from _strange(problem, item, where)
        kind = item['policy']['type'] if 'policy' in item else 'members'
        if item['code'] != f'vrt.{kind}':
            yield Finding(f'{where}.code', f'must be vrt.{kind}')


def _strange_changes(problem, raw):
    """Words of the relaxations that do not fit the problem."""
    for number, entry in enumerate(raw['relaxations']):
        for part in _parts(entry['change']):
            where = f'$.relaxations[{number}].change'
            yield from _strange(problem, part, where)


def _strange(problem, item, where):
    known = {_rule(policy) for policy in _strict(problem)}
    if 'policy' in item and _rule_of(item) not in known:
        yield Finding(where, 'names no strict policy of this problem')
    stems = {stem.path for stem in problem.topology.stems}
    paths = {_path_of(item)} if 'members' in item else _least(item)
    for path in sorted(paths):
        if path not in stems:
            name = invalid.quote(path)
            yield Finding(where, f'{name} are no members of this problem')


def _strict(problem):
    return [policy for policy in problem.topology.policies if policy.strict]


def _rule(policy):
    """What an answer tells of a policy."""
    return policy.at, policy.type, policy.scope


def _rule_of(item):
    """The same of an item of a conflict, or a part of a change."""
    policy = item.get('policy')
    if isinstance(policy, dict):
        return item['at'], policy['type'], policy['scope']
    return item.get('at'), policy, item.get('scope')


def _path_of(item):
    """Path of the stem that an item or a part names, if it does."""
    if 'members' in item:
        return topology.join(item['at'], item['members'])
    return None


def _parts(change):
    return change.get('together', [change])


def _least(part):
    """Stem path -> how many of its members are enough after a change."""
    if 'members' in part:
        return {_path_of(part): part['min_count']}
    return part.get('min_counts', {})
