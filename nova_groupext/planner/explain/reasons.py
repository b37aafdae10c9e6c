# SPDX-License-Identifier: Apache-2.0
"""What stands in the way of a core: the first thing that helps, if lifted.

Obstacles are lifted one after the other, and none is put back: if there is a
plan then, the last one was the reason.
"""

import dataclasses

from nova_groupext.planner import problem as problems
from nova_groupext.planner import sketch
from nova_groupext.planner import tags as tag
from nova_groupext.planner.bounds import pins

#: There is no room for it.
CAPACITY = 'vrt.capacity'
#: What others have is in the way, however little room it takes.
OCCUPIED = 'vrt.occupied'
#: Too few hosts can take even one of the members.
HOSTS = 'vrt.hosts'
#: Members that are servers already, and stay where they are, are in the way.
PINNED = 'vrt.pinned'
#: The policies contradict one another, or the cloud, whatever is free.
POLICIES = 'vrt.policies'
#: It was not found out in time.
UNKNOWN = 'vrt.conflict'


def find(questions, core):
    """The code of the reason.

    :param questions: questions.Questions about the problem
    :param core: core.Core of the problem
    """
    problem = tag.keep(questions.problem, frozenset(core.tags))
    if pins.broken(problem):
        return PINNED
    for code, lift in _OBSTACLES:
        problem = lift(problem)
        verdict = questions.find(problem)
        if verdict.plan is not None:
            return code
        if not verdict.is_impossible:
            return UNKNOWN
    has_rules = any(isinstance(each, tag.Rule) for each in core.tags)
    return POLICIES if has_rules else HOSTS


def _without_others(problem):
    hosts = {
        name: dataclasses.replace(host, foreign=False)
        for name, host in problem.hosts.items()
    }
    return dataclasses.replace(problem, hosts=hosts)


def _on_all_hosts(problem):
    anywhere = problems.MemberClass({}, frozenset(problem.hosts), {}, {})
    return _with_classes(problem, dict.fromkeys(problem.classes, anywhere))


def _without_pins(problem):
    return dataclasses.replace(problem, pinned={})


def _with_classes(problem, classes):
    return dataclasses.replace(problem, classes=classes)


_OBSTACLES = (
    (CAPACITY, sketch.draw),
    (OCCUPIED, _without_others),
    (HOSTS, _on_all_hosts),
    (PINNED, _without_pins),
)
