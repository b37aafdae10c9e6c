# SPDX-License-Identifier: Apache-2.0
"""Plans that restore every strict policy with the minimum number of moves.

It is an ordinary problem that keeps members on their current hosts: it has
neither scores nor soft policies, and each member may stay, also where new
members are not allowed.
"""

import collections
from collections.abc import Container
from collections.abc import Mapping
import dataclasses

from nova_groupext.solver.aliases import HostId
from nova_groupext.solver.aliases import Path
from nova_groupext.solver.model import answers
from nova_groupext.solver.model import problems
from nova_groupext.solver.model import subproblem
from nova_groupext.solver.model import violations


def make_problem(
    problem: problems.Problem,
    current_hosts: Mapping[Path, HostId],
    movable: Container[Path],
) -> problems.Problem:
    """Return the problem of moving as few members as possible.

    :param problem: the free amounts of its hosts exclude what the members use
        now
    :param current_hosts: of all placed members; the problem omits the others
    :param movable: members that may move
    """
    problem = subproblem.require_all(
        subproblem.remove_members(
            problem,
            problem.class_of.keys() - current_hosts.keys(),
            are_placed_later=False,
        )
    )
    problem = subproblem.reclassify(
        problem, *_classes_by_host(problem, current_hosts)
    )
    policies = tuple(p for p in problem.topology.policies if p.strict)
    return dataclasses.replace(
        problem,
        hosts=_hosts_without(problem, current_hosts, movable),
        topology=dataclasses.replace(problem.topology, policies=policies),
        pinned={
            p: host for p, host in current_hosts.items() if p not in movable
        },
        # Relationships with other groups are soft, and dropped here.
        outsiders={},
        current=dict(current_hosts),
        keeps_current=True,
    )


def _classes_by_host(
    problem: problems.Problem, current_hosts: Mapping[Path, HostId]
) -> tuple[
    dict[problems.ClassName, problems.MemberClass],
    dict[Path, problems.ClassName],
]:
    """Return classes whose members may stay, and each member's."""
    classes = dict(problem.classes)
    class_of: dict[Path, problems.ClassName] = {}
    for member in problem.topology.members:
        path = member.path
        # No class of the problem has a name like this.
        name = class_of[path] = (member.spec['class'], current_hosts[path])
        classes[name] = _allow_host(
            problem.class_of[path], current_hosts[path]
        )
    return classes, class_of


def _hosts_without(
    problem: problems.Problem,
    current_hosts: Mapping[Path, HostId],
    movable: Container[Path],
) -> dict[HostId, problems.Host]:
    """Return the hosts with what is free there without movable members."""
    own_usage = violations.usage(
        problem,
        violations.Plan(dict(current_hosts), {}),
        (path for path in problem.class_of if path in movable),
    )
    return {
        host_id: dataclasses.replace(
            host,
            free=dict(own_usage[host_id] + collections.Counter(host.free)),
        )
        if host_id in own_usage
        else host
        for host_id, host in problem.hosts.items()
    }


def list_moves(
    answer: answers.Answer, current_hosts: Mapping[Path, HostId]
) -> dict[Path, HostId]:
    """Return the new hosts of the members that a plan moves."""
    return {
        path: host
        for path, host in answer.placement.items()
        if host != current_hosts[path]
    }


def _allow_host(
    member_class: problems.MemberClass, host: HostId
) -> problems.MemberClass:
    """Return a member class that may also use one host, as it does now."""
    return dataclasses.replace(
        member_class,
        hosts=member_class.hosts | {host},
        scores={},
        alternatives={
            **member_class.alternatives,
            host: [member_class.request],
        },
    )
