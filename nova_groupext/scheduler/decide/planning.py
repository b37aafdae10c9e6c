# SPDX-License-Identifier: Apache-2.0
"""Planning of a group, from PLANNING to a held plan: the steps 2 to 4.

::

    look ----> decide ----> rehearse ----> hold
     ^            |             |            |
     |         capacity     a filter     capacity
     |         appeared     refuses      was taken
     |            |             |            |
     +------------+-- again ----+------------+

Any other refused or undecided answer ends the planning.
"""

import datetime
import functools
import random
import time

from oslo_log import log as logging

from nova_groupext import exception
from nova_groupext import faultpoints
from nova_groupext import notifications
from nova_groupext import quota
from nova_groupext.conf import CONF
from nova_groupext.db import api as db
from nova_groupext.objects import states
from nova_groupext.objects import transitions
from nova_groupext.objects.hold import VRTHold
from nova_groupext.objects.plan import VRTPlan
from nova_groupext.scheduler.decide import rehearsal
from nova_groupext.scheduler.decide import solver_process
from nova_groupext.scheduler.look import blind_spots
from nova_groupext.scheduler.look import look
from nova_groupext.scheduler.nova import hosts
from nova_groupext.scheduler.protocol import exclusive_hosts
from nova_groupext.scheduler.protocol import hold_plan
from nova_groupext.solver.explain import sentences
from nova_groupext.solver.model import problems
from nova_groupext.solver.policies import violations

LOG = logging.getLogger(__name__)

# Seconds by which the longest pause grows with each attempt.
PAUSE = 0.5

UNKNOWN = (
    'No host can take {}: the flavor or image asks for a trait or a resource '
    'class that Placement does not know. Describe another one, or ask the '
    'operator to make it known.'
)

UNSEEN = (
    'No plan was found for what was seen of the cloud, and something was '
    'not: {}. Another try may succeed.'
)

NO_SUCCESS = (
    "Nova's filters, a part of the cloud that did not answer, or other "
    'servers were in the way of every plan; another try may succeed.'
)


class Planning:
    """Planning of one group, from PLANNING to an answer.

    :param client: Nova's SchedulerReportClient
    :param ledger: PlacementClient
    :param lease: VRTLease that keeps other planners off the group
    :param deadline: deadlines.Deadline
    """

    def __init__(self, context, group, client, ledger, lease, deadline):
        self._context = context
        self._group = group
        self._lease = lease
        self._deadline = deadline
        self._client = client
        self._ledger = ledger
        # Excluded (class name, host id) pairs.
        self._excluded = set()

    def run(self):
        """Plan the group, hold it if wanted, and store the result.

        :raises: GenerationConflict when the group was changed meanwhile, or
            GroupBusy when another planner has taken it over; nothing is held
            then
        :raises: LimitExceeded when the tenant's quota is too small
        """
        # Also if nothing is to be held: an answer reveals how much capacity is
        # free, and may not do so beyond the quota.
        with self._deadline.stopped():
            quota.check(
                self._context, self._group.project_id, self._group.members
            )
        self._attempt()

    def _attempt(self):
        """Run attempts, and become UNDECIDED when the time is over."""
        try:
            self._go()
        except exception.OutOfTime as exc:
            self._conclude(states.Group.UNDECIDED, fault=exc.format_message())

    def _go(self):
        for attempt in range(CONF.vrt.planning_attempts):
            if attempt:
                # A concurrent planner may be about to retry, too.
                time.sleep(random.uniform(0, PAUSE * attempt))  # noqa: S311
            self._deadline.go_on()
            seen = self._look()
            answer = self._decide(seen)
            if answer['status'] != VRTPlan.PLACED:
                unseen = self._unseen(seen, answer)
                if blind_spots.GROWN in unseen:
                    continue
                return self._give_up(seen, answer, unseen)
            plan = self._plan(seen, answer)
            if not self._rehearse(seen, self._arriving(plan)):
                continue
            if not self._group.hold:
                return self._conclude(states.Group.PLANNED)
            if self._hold(plan):
                return None
        return self._conclude(
            states.Group.UNDECIDED, fault=self._why_in_vain()
        )

    def _why_in_vain(self):
        """Return the fault when every plan met an obstacle."""
        return NO_SUCCESS

    def _conclude(self, status, fault=None):
        self._group.change(self._context, status, fault=fault)
        self._tell()

    def _tell(self):
        LOG.info(
            'VRT group %(group)s is %(status)s.',
            {'group': self._group.uuid, 'status': self._group.status},
        )
        notifications.decided(self._context, self._group)

    def _look(self):
        seen = look.look(
            *(self._context, self._group, self._client, self._excluded),
            go_on=self._deadline.go_on,
        )
        self._avoid_failed_hosts(seen, self._group)
        return seen

    def _avoid_failed_hosts(self, seen, group):
        """Exclude hosts of failed members for all members of their classes."""
        old = VRTPlan.newest(self._context, group.id)
        placed = old.hosts() if old else {}
        # A lost hold says nothing against its host.
        lost = VRTHold.lost_members(self._context, group.id)
        for member in group.members:
            host = placed.get(member.path)
            has_failed = member.status == states.Member.FAILED
            if has_failed and host and member.id not in lost:
                self._avoid(seen, member.path, host)

    def _avoid(self, seen, path, host):
        """Exclude a host for a member and all members of its class."""
        name = seen.class_of.get(path)
        if name:
            self._excluded.add((name, host))
            seen.leave_out(name, host)

    def _decide(self, seen):
        """Return the newest plan if it is still valid, else a new answer."""
        old = VRTPlan.newest(self._context, self._group.id)
        if old is not None and old.status == VRTPlan.PLACED:
            kept = {
                **old.answer,
                'status': VRTPlan.PLACED,
                'placement': old.hosts(),
            }
            problem = problems.parse(seen.problem)
            plan = violations.as_plan(
                problem, kept['placement'], kept['alternative']
            )
            if not violations.find(problem, plan):
                return kept
        return self._solve(seen.problem)

    def _solve(self, problem):
        """Return the solver's answer to a problem of DESIGN section 5."""
        timed = {**problem, 'time_limit': self._deadline.for_deciding()}
        return solver_process.solve(self._parsed(timed)).to_dict()

    @staticmethod
    def _parsed(problem):
        return problems.parse(problem)

    def _unseen(self, seen, answer):
        """Return reasons why a refusal may be wrong; may query Placement."""
        is_refused = answer['status'] == VRTPlan.REFUSED
        if is_refused and not self._excluded:
            return seen.blind_spots.find()
        return []

    def _give_up(self, seen, answer, unseen):
        """Store the answer, and conclude as REFUSED or UNDECIDED."""
        status, fault = states.Group.UNDECIDED, None
        if answer['status'] == VRTPlan.REFUSED:
            if self._excluded or unseen:
                # Hosts are missing that filters refused or that were not seen:
                # such an answer proves nothing about the group.
                answer = {**answer, 'status': VRTPlan.UNDECIDED}
                fault = _why_unseen(unseen) or self._why_in_vain()
            else:
                status = states.Group.REFUSED
                fault = _why_nowhere(seen.unknown())
        self._remember(answer, {})
        self._conclude(status, fault=fault)

    def _plan(self, seen, answer):
        """Store the plan, with the allocations that each member needs."""
        placement = {
            path: self._seat(seen, answer, path, host_id)
            for path, host_id in answer['placement'].items()
        }
        return self._remember(answer, placement)

    def _seat(self, seen, answer, path, host_id):
        host = seen.hosts[host_id]
        ways = seen.class_of_member(path).ways[host_id]
        way = ways[answer['alternative'].get(path, 0)]
        return {
            'host': host.host,
            'node': host.nodename,
            'provider': host.uuid,
            'allocations': way['allocations'],
            'mappings': way['mappings'],
            'domains': hosts.all_domains(host),
        }

    def _remember(self, answer, placement):
        rest = {
            key: value
            for key, value in answer.items()
            if key not in ('status', 'placement')
        }
        plan = VRTPlan(
            group_id=self._group.id,
            status=answer['status'],
            placement=placement,
            answer=rest,
        )
        plan.create(self._context)
        return plan

    def _arriving(self, plan):
        """Return the part of a placement that is not in Placement yet."""
        return plan.placement

    def _rehearse(self, seen, placement):
        refused = rehearsal.rehearse(
            self._context, seen, placement, self._deadline.go_on
        )
        if refused:
            LOG.info(
                "VRT group %(group)s: Nova's filters refuse %(refused)s",
                {'group': self._group.uuid, 'refused': sorted(refused)},
            )
        self._excluded |= refused
        return not refused

    def _hold(self, plan):
        """Hold the plan; return False when the capacity was taken meanwhile.

        :raises: LimitExceeded when the tenant's quota is too small
        """
        try:
            placeholder_holds = exclusive_hosts.placeholders_for(
                self._context, self._ledger, self._group, plan
            )
            with self._deadline.stopped():
                rows = quota.serialised(
                    self._context,
                    self._group.project_id,
                    functools.partial(
                        self._write_down, plan, placeholder_holds
                    ),
                )
            hold_plan.hold(
                *(self._context, self._ledger, self._lease, rows),
                self._deadline.go_on,
            )
            self._commit(rows)
        except exception.HoldFailed as exc:
            LOG.info(
                'VRT group %(group)s: %(why)s',
                {'group': self._group.uuid, 'why': exc},
            )
            return False
        return True

    def _commit(self, rows):
        """Commit the filled holds, the members and the group together."""
        expires_at = db.time(self._context) + datetime.timedelta(
            seconds=self._group.expires_in
        )
        try:
            exclusive_hosts.refuse_strangers(
                self._context, self._ledger, self._group, rows
            )
            with faultpoints.around('hold.commit'):
                transitions.hold(
                    self._context, self._lease, self._group, rows, expires_at
                )
        except exception.VRTException:
            hold_plan.undo(self._context, self._ledger, rows)
            raise
        self._tell()

    def _write_down(self, plan, placeholder_holds):
        """Insert new holds, if the tenant's quota covers them."""
        placed = [
            member
            for member in self._group.members
            if member.path in plan.placement
        ]
        quota.check(self._context, self._group.project_id, placed)
        return hold_plan.write_down(
            self._context,
            self._lease,
            placed,
            plan.placement,
            placeholder_holds,
        )


def _why_unseen(reasons):
    """Return the fault when parts of the cloud were not seen; None without."""
    return UNSEEN.format('; '.join(reasons)) if reasons else None


def _why_nowhere(paths):
    """Return the fault about members that no host can take; None without."""
    return UNKNOWN.format(sentences.in_a_row(paths)) if paths else None
