# SPDX-License-Identifier: Apache-2.0
"""Random operations on groups: each member keeps exactly one owner.

A plain model has the expected state; a process that dies leaves the state
before its operation or the one after it. The number of a test is its seed.
"""

import contextlib
import random
import uuid

import fixtures
import hypothesis
from hypothesis import stateful
from hypothesis import strategies as st
from oslo_utils import uuidutils

from nova_groupext import objects
from nova_groupext.conf import CONF
from nova_groupext.objects import states
from nova_groupext.scheduler.nova import servers as nova_servers
from tests.services import deployment
from tests.services import doubles
from tests.services import model
from tests.services import servers

Member = states.Member
ServerOutcome = nova_servers.ServerOutcome

SEEDS = 8
RUNS_PER_SEED = 5
STEPS = 30

EXCLUSIVE = {'type': 'exclusive', 'scope': 'host'}
SLOTS = (3, 2, 2)
# Which providers the members of a group want.
PROVIDER_INDEXES = st.lists(
    st.integers(0, len(SLOTS) - 1), min_size=1, max_size=3
)
# A process dies at the so-many-th point that it reaches, or does not.
KILL_POINTS = st.none() | st.integers(0, 12)
INDEXES = st.integers(0, 20)
NOT_HELD = (Member.TENTATIVE, Member.FAILED, Member.RELEASED)
# Status of a member after its server has ended.
STATUS_AFTER = {
    ServerOutcome.DELETED: Member.TENTATIVE,
    ServerOutcome.IN_ERROR: Member.FAILED,
    ServerOutcome.UNSCHEDULED: Member.FAILED,
    ServerOutcome.UNKNOWN_TO_NOVA: Member.FAILED,
}


def rule_for_member(*statuses, **more):
    """Make a rule for a random member in one of the statuses."""

    def decorate(rule):
        members = stateful.precondition(
            lambda self: self.model.members_in(*statuses)
        )
        return members(stateful.rule(index=INDEXES, **more)(rule))

    return decorate


class RandomOperations(stateful.RuleBasedStateMachine):
    """Groups that share providers with too little capacity for all."""

    def __init__(self, test):
        super().__init__()
        self.test = test
        self.deployment = test.deployment
        self.deployment.reset()
        self.providers = [
            self.deployment.make_provider(slots) for slots in SLOTS
        ]
        self.model = model.Model(dict(zip(self.providers, SLOTS, strict=True)))

    @stateful.initialize(hold_again=st.booleans())
    def configure(self, hold_again):
        CONF.set_override('rehold_after_server_end', hold_again, 'vrt')

    # -- groups ------------------------------------------------------------

    @stateful.rule(
        provider_indexes=PROVIDER_INDEXES,
        is_exclusive=st.booleans(),
        kill_at=KILL_POINTS,
    )
    def hold(self, provider_indexes, is_exclusive, kill_at):
        self.plan(self.describe(provider_indexes, is_exclusive), kill_at)

    @stateful.rule(
        provider_indexes=PROVIDER_INDEXES, is_exclusive=st.booleans()
    )
    def hold_on_a_shrunken_provider(self, provider_indexes, is_exclusive):
        """A provider becomes too small for a group while it is being held."""
        group = self.describe(provider_indexes, is_exclusive)
        provider = self.providers[provider_indexes[0]]
        slots = self.model.occupied_slots(provider)
        with self.reduced(provider, slots, call_at='after hold.post'):
            self.do(lambda: self.deployment.plan(group), self.model)

    @rule_for_member(Member.TENTATIVE, kill_at=KILL_POINTS)
    def retry_hold(self, index, kill_at):
        """Plan a group again that was not held for lack of capacity."""
        group, _path = self.pick(index, Member.TENTATIVE)
        if not self.model.groups[group].was_held:
            self.deployment.group(group).change(
                self.deployment.context, states.Group.PLANNING
            )
            self.plan(group, kill_at)

    def describe(self, provider_indexes, is_exclusive):
        providers = [self.providers[number] for number in provider_indexes]
        group = self.deployment.describe(
            providers, [EXCLUSIVE] if is_exclusive else []
        )
        self.model.groups[group] = model.GroupState(
            {
                f'm-{number}': model.MemberState(Member.TENTATIVE, provider)
                for number, provider in enumerate(providers)
            },
            is_exclusive,
        )
        return group

    def plan(self, group, kill_at):
        after = self.model.copy()
        if after.fits(group):
            after.change_all(group, Member.TENTATIVE, Member.HELD)
            after.groups[group].was_held = True
        # Another planner replaces the killed one, and plans the group.
        self.do(
            lambda: self.deployment.plan(group), after, kill_at, before=after
        )

    @rule_for_member(*states.MEMBER_RELEASABLE, kill_at=KILL_POINTS)
    def release(self, index, kill_at):
        group, path = self.pick(index, *states.MEMBER_RELEASABLE)
        self.deployment.request_release(group, path)
        after = self.model.copy()
        after.detach_server(group, path)
        after.change(group, path, Member.RELEASED)

        def release():
            self.deployment.release(group)
            # A late create is refused.
            self.deployment.redeem(group, path)

        self.do(release, after, kill_at, before=after)

    @rule_for_member(Member.HELD, kill_at=KILL_POINTS)
    def expire(self, index, kill_at):
        group, _path = self.pick(index, Member.HELD)
        self.deployment.expire(group)
        after = self.model.copy()
        after.change_all(group, Member.HELD, Member.TENTATIVE)
        after.groups[group].has_expired = True
        self.do(lambda: self.deployment.reap(0), after, kill_at, before=after)

    @rule_for_member(*Member, kill_at=KILL_POINTS)
    def delete(self, index, kill_at):
        group, _path = self.pick(index, *Member)
        self.deployment.mark_deleted(group)
        after = self.model.copy()
        after.delete(group)
        self.do(
            lambda: self.deployment.release(group),
            after,
            kill_at,
            before=after,
        )

    # -- servers -----------------------------------------------------------

    @rule_for_member(Member.HELD, kill_at=KILL_POINTS)
    def redeem(self, index, kill_at):
        group, path = self.pick(index, Member.HELD)
        server = uuidutils.generate_uuid()
        after = self.model.copy()
        after.change(group, path, Member.ACTIVE, server)
        self.do(
            lambda: self.deployment.redeem(group, path, server), after, kill_at
        )

    @rule_for_member(Member.HELD, kill_at=KILL_POINTS)
    def redeem_with_rejecting_filters(self, index, kill_at):
        group, path = self.pick(index, Member.HELD)
        self.do(
            lambda: self.deployment.redeem(
                group, path, scheduler=doubles.RejectingFilters
            ),
            self.model,
            kill_at,
        )

    @rule_for_member(Member.ACTIVE, is_the_same=st.booleans())
    def redeem_twice(self, index, is_the_same):
        group, path = self.pick(index, Member.ACTIVE)
        server = self.model.member(group, path).server if is_the_same else None
        self.do(
            lambda: self.deployment.redeem(group, path, server), self.model
        )

    @rule_for_member(*NOT_HELD)
    def redeem_without_a_hold(self, index):
        group, path = self.pick(index, *NOT_HELD)
        self.do(lambda: self.deployment.redeem(group, path), self.model)

    @stateful.precondition(lambda self: self.model.members_with_server())
    @stateful.rule(
        index=INDEXES,
        # Only in cell0 does it matter that a server still owns something.
        outcome=st.sampled_from(
            [
                *STATUS_AFTER,
                ServerOutcome.UNSCHEDULED,
                ServerOutcome.UNSCHEDULED,
            ]
        ),
        is_deleted=st.booleans(),
        kill_at=KILL_POINTS,
    )
    def end_server(self, index, outcome, is_deleted, kill_at):
        """A server ends; its allocation is removed now or later."""
        members = self.model.members_with_server()
        group, path = members[index % len(members)]
        server = self.model.member(group, path).server
        self.deployment.server_outcomes[server] = outcome
        after = self.model.copy()
        # Nova may leave allocations of a deleted server; the reaper
        # empties them.
        if is_deleted or outcome == ServerOutcome.DELETED:
            self.deployment.delete_allocations(server)
            is_held_again = (
                CONF.vrt.rehold_after_server_end
                and self.model.groups[group].is_current()
            )
            end = Member.HELD if is_held_again else STATUS_AFTER[outcome]
            after.change(group, path, end)
        elif outcome == ServerOutcome.UNSCHEDULED:
            is_current = self.model.groups[group].is_current()
            end = Member.HELD if is_current else Member.FAILED
            after.change(group, path, end)
        # The next reaper follows, when one has died.
        self.do(lambda: self.deployment.reap(0), after, kill_at, before=after)

    # -- Placement ---------------------------------------------------------

    @stateful.rule(
        seconds=st.sampled_from([0, deployment.LATER]), kill_at=KILL_POINTS
    )
    def reap(self, seconds, kill_at):
        """The reaper changes nothing while all is consistent."""
        self.do(lambda: self.deployment.reap(seconds), self.model, kill_at)

    @rule_for_member(Member.HELD, kill_at=KILL_POINTS)
    def remove_hold(self, index, kill_at):
        """As ``nova-manage placement audit --delete`` does."""
        group, path = self.pick(index, Member.HELD)
        self.deployment.delete_allocations(
            self.deployment.hold(group, path).uuid
        )
        self.do(lambda: self.deployment.reap(0), self.model, kill_at)

    @rule_for_member(Member.HELD)
    def replace_a_hold_by_a_foreign_consumer(self, index):
        """A hold is removed from outside and its capacity is consumed."""
        group, path = self.pick(index, Member.HELD)
        provider = self.model.member(group, path).provider
        has_placeholders = self.model.occupied_slots(
            provider
        ) > self.model.used_slots(provider)
        slots = self.model.free_slots(provider) + 1
        self.deployment.delete_allocations(
            self.deployment.hold(group, path).uuid
        )
        after = self.model.copy()
        after.foreign_consumers[self.deployment.fill(provider, slots)] = (
            provider,
            slots,
        )
        if not has_placeholders:
            after.change(group, path, Member.FAILED)
        self.do(lambda: self.deployment.reap(0), after)

    @rule_for_member(Member.HELD, missing_slots=st.integers(1, 3))
    def reap_an_overcommitted_provider(self, index, missing_slots):
        """A provider shrinks below its usage: the reaper releases holds."""
        group, path = self.pick(index, Member.HELD)
        provider = self.model.member(group, path).provider
        after = self.model.copy()
        for each in self.overcommitted_holds(provider, missing_slots):
            after.change(*each, Member.FAILED)
        with self.reduced(
            provider, self.model.occupied_slots(provider) - missing_slots
        ):
            self.do(lambda: self.deployment.reap(0), after)

    @rule_for_member(Member.HELD, missing_slots=st.integers(1, 3))
    def redeem_on_an_overcommitted_provider(self, index, missing_slots):
        group, path = self.pick(index, Member.HELD)
        provider = self.model.member(group, path).provider
        server = uuidutils.generate_uuid()
        after = self.model.copy()
        if (group, path) in self.overcommitted_holds(provider, missing_slots):
            after.change(group, path, Member.FAILED)
        else:
            after.change(group, path, Member.ACTIVE, server)
        with self.reduced(
            provider, self.model.occupied_slots(provider) - missing_slots
        ):
            self.do(lambda: self.deployment.redeem(group, path, server), after)

    def overcommitted_holds(self, provider, missing_slots):
        """Return the members whose holds a provider with too few slots loses.

        Placeholders are released first, then the highest uuids.
        """
        placeholder_holds = self.model.occupied_slots(
            provider
        ) - self.model.used_slots(provider)
        by_uuid = {
            self.deployment.hold(*each).uuid: each
            for each in self.model.members_in(Member.HELD)
            if self.model.member(*each).provider == provider
        }
        highest_first = [by_uuid[u] for u in sorted(by_uuid, reverse=True)]
        return highest_first[: max(0, missing_slots - placeholder_holds)]

    @contextlib.contextmanager
    def reduced(self, provider, slots, call_at=None):
        """Reduce the slots of a provider for the duration of the context.

        :param at: from which point on; from the beginning by default
        """
        if call_at is None:
            self.deployment.resize_provider(provider, slots)
        else:
            self.test.call_at(
                call_at,
                lambda: self.deployment.resize_provider(provider, slots),
            )
        yield
        self.deployment.resize_provider(
            provider, self.model.providers[provider]
        )
        self.deployment.maintain_exclusive()

    @stateful.rule(number=st.integers(0, len(SLOTS) - 1))
    def add_foreign_consumer(self, number):
        provider = self.providers[number]
        has_room = self.model.free_slots(provider)
        consumer = self.deployment.fill(provider)
        if has_room:
            self.model.foreign_consumers[consumer] = provider, 1

    @stateful.rule()
    def remove_foreign_consumers(self):
        leaving, after = [*self.model.foreign_consumers], self.model.copy()
        after.foreign_consumers.clear()
        self.do(lambda: self.deployment.delete_allocations(*leaving), after)

    # -- what has to be ----------------------------------------------------

    def do(self, work, after, kill_at=None, before=None):
        """Run an operation and choose the model of the state it left."""
        outcomes = [after]
        if self.test.is_killed_during(work, kill_at):
            outcomes.append(self.model if before is None else before)
            self.deployment.reap()
        self.deployment.maintain_exclusive()
        actual_state = self.actual_state()
        fitting = (
            each for each in outcomes if each.snapshot() == actual_state
        )
        self.model = next(fitting, after)

    def actual_state(self):
        """Return the actual state in the form of Model.shown()."""
        uuids = objects.VRTGroup.uuids(self.deployment.context).values()
        return {
            each: self._group_state(self.deployment.group(each))
            for each in uuids
        }

    def _group_state(self, group):
        holds = objects.VRTHold.list_by_group(
            self.deployment.context, group.id, states.Hold.REDEEMED
        )
        redeemed = {hold.member_id for hold in holds}
        return group.status, {
            member.path: model.MemberState(
                member.status,
                member.described.description['placements'][member.path][
                    'provider'
                ],
                member.server_uuid if member.id in redeemed else None,
            )
            for member in group.members
        }

    @stateful.invariant()
    def groups_and_members_match_the_model(self):
        self.test.assertEqual(self.model.snapshot(), self.actual_state())

    @stateful.invariant()
    def every_member_has_one_owner(self):
        allocations = self.test.assert_at_rest(self.model.foreign_consumers)
        for provider, slots in self.model.providers.items():
            occupied = self.model.occupied_slots(provider)
            self.test.assertLessEqual(occupied, slots)
            used = sum(
                part[provider]['resources']['VCPU']
                for part in allocations.values()
                if provider in part
            )
            self.test.assertEqual(occupied * deployment.MEMBER_VCPUS, used)

    def teardown(self):
        for group in [*self.model.groups]:
            self.deployment.delete(group)
            self.model.delete(group)
        self.deployment.delete_allocations(*self.model.foreign_consumers)
        self.test.assertEqual({}, self.deployment.allocations())
        self.test.assertEqual({}, self.deployment.row_counts())

    def pick(self, index, *statuses):
        members = self.model.members_in(*statuses)
        return members[index % len(members)]


class TestRandomOperations(deployment.DeploymentTestCase):
    SERVER = servers.SQLITE

    def setUp(self):
        super().setUp()
        self.addCleanup(CONF.clear_override, 'rehold_after_server_end', 'vrt')
        self.useFixture(
            fixtures.MonkeyPatch(
                'oslo_utils.uuidutils.generate_uuid', self.generate_uuid
            )
        )

    @staticmethod
    def generate_uuid():
        """Return a new uuid; the order of uuids is reproducible."""
        high = random.getrandbits(32) << 96
        return str(uuid.UUID(int=high | uuid.uuid4().int >> 32))

    def run_operations(self, seed):
        stateful.run_state_machine_as_test(
            hypothesis.seed(seed)(lambda: RandomOperations(self)),
            settings=hypothesis.settings(
                max_examples=RUNS_PER_SEED,
                stateful_step_count=STEPS,
                deadline=None,
                database=None,
                # To make a failure shorter would take minutes.
                phases=[hypothesis.Phase.generate],
                report_multiple_bugs=False,
                suppress_health_check=[*hypothesis.HealthCheck],
            ),
        )


for _seed in range(SEEDS):
    setattr(
        TestRandomOperations,
        f'test_every_member_has_one_owner_with_seed_{_seed}',
        lambda self, seed=_seed: self.run_operations(seed),
    )
