# SPDX-License-Identifier: Apache-2.0
"""Whatever happens to groups, in whatever order: is each member owned once?

A plain model says what has to be; a process that dies leaves either what was
before, or what it was about to make of it. The number of a test is its seed.
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
from tests.services import life
from tests.services import model
from tests.services import players
from tests.services import servers

Member = states.Member
ServerOutcome = nova_servers.ServerOutcome

SEEDS = 8
LIVES_PER_SEED = 5
STEPS = 30

ALONE = {'type': 'exclusive', 'scope': 'host'}
SEATS = (3, 2, 2)
# Which providers the members of a group want.
WANTED = st.lists(st.integers(0, len(SEATS) - 1), min_size=1, max_size=3)
# A process dies at the so-many-th point that it reaches, or does not.
DEATHS = st.none() | st.integers(0, 12)
WHO = st.integers(0, 20)
NOT_HELD = (Member.TENTATIVE, Member.FAILED, Member.RELEASED)
# What becomes of a member whose server has come to an end.
ENDS = {
    ServerOutcome.DELETED: Member.RELEASED,
    ServerOutcome.BROKEN: Member.FAILED,
    ServerOutcome.UNSCHEDULED: Member.FAILED,
    ServerOutcome.UNKNOWN_TO_NOVA: Member.FAILED,
}


def happens_to(*statuses, **more):
    """A rule for a member in one of some states, while there is one."""

    def decorate(rule):
        there = stateful.precondition(lambda self: self.model.there(*statuses))
        return there(stateful.rule(who=WHO, **more)(rule))

    return decorate


class WholeLife(stateful.RuleBasedStateMachine):
    """Some groups share providers that have not room for all."""

    def __init__(self, test):
        super().__init__()
        self.test = test
        self.life = test.life
        self.life.forget()
        self.providers = [self.life.make_provider(seats) for seats in SEATS]
        self.model = model.Model(dict(zip(self.providers, SEATS, strict=True)))

    @stateful.initialize(hold_again=st.booleans())
    def configure(self, hold_again):
        CONF.set_override('rehold_after_server_end', hold_again, 'vrt')

    # -- groups ------------------------------------------------------------

    @stateful.rule(wanted=WANTED, is_alone=st.booleans(), death=DEATHS)
    def hold(self, wanted, is_alone, death):
        self.plan(self.describe(wanted, is_alone), death)

    @stateful.rule(wanted=WANTED, is_alone=st.booleans())
    def hold_in_vain(self, wanted, is_alone):
        """A host becomes too small for a group while that is held."""
        group = self.describe(wanted, is_alone)
        provider = self.providers[wanted[0]]
        seats = self.model.occupied(provider)
        with self.smaller(provider, seats, at='after hold.post'):
            self.do(lambda: self.life.plan(group), self.model)

    @happens_to(Member.TENTATIVE, death=DEATHS)
    def hold_after_all(self, who, death):
        """Try again to hold a group that found no room."""
        group, _path = self.pick(who, Member.TENTATIVE)
        if not self.model.groups[group].was_held:
            self.life.group(group).change(
                self.life.context, states.Group.PLANNING
            )
            self.plan(group, death)

    def describe(self, wanted, is_alone):
        providers = [self.providers[number] for number in wanted]
        group = self.life.describe(providers, [ALONE] if is_alone else [])
        self.model.groups[group] = model.Seats(
            {
                f'm-{number}': model.Seat(Member.TENTATIVE, provider)
                for number, provider in enumerate(providers)
            },
            is_alone,
        )
        return group

    def plan(self, group, death):
        after = self.model.copy()
        if after.fits(group):
            after.change_all(group, Member.TENTATIVE, Member.HELD)
            after.groups[group].was_held = True
        # Who died is replaced: the group is planned in the end.
        self.do(lambda: self.life.plan(group), after, death, before=after)

    @happens_to(*states.MEMBER_RELEASABLE, death=DEATHS)
    def release(self, who, death):
        group, path = self.pick(who, *states.MEMBER_RELEASABLE)
        self.life.give_up(group, path)
        after = self.model.copy()
        after.leave(group, path)
        after.change(group, path, Member.RELEASED)

        def release():
            self.life.release(group)
            # A late create is refused.
            self.life.redeem(group, path)

        self.do(release, after, death, before=after)

    @happens_to(Member.HELD, death=DEATHS)
    def expire(self, who, death):
        group, _path = self.pick(who, Member.HELD)
        self.life.expire(group)
        after = self.model.copy()
        after.change_all(group, Member.HELD, Member.RELEASED)
        after.groups[group].has_expired = True
        self.do(lambda: self.life.reap(0), after, death, before=after)

    @happens_to(*Member, death=DEATHS)
    def delete(self, who, death):
        group, _path = self.pick(who, *Member)
        self.life.mark_deleted(group)
        after = self.model.copy()
        after.delete(group)
        self.do(lambda: self.life.release(group), after, death, before=after)

    # -- servers -----------------------------------------------------------

    @happens_to(Member.HELD, death=DEATHS)
    def redeem(self, who, death):
        group, path = self.pick(who, Member.HELD)
        server = uuidutils.generate_uuid()
        after = self.model.copy()
        after.change(group, path, Member.ACTIVE, server)
        self.do(lambda: self.life.redeem(group, path, server), after, death)

    @happens_to(Member.HELD, death=DEATHS)
    def turn_back(self, who, death):
        group, path = self.pick(who, Member.HELD)
        self.do(
            lambda: self.life.redeem(group, path, scheduler=players.Refusing),
            self.model,
            death,
        )

    @happens_to(Member.ACTIVE, is_the_same=st.booleans())
    def redeem_twice(self, who, is_the_same):
        group, path = self.pick(who, Member.ACTIVE)
        server = self.model.seat(group, path).server if is_the_same else None
        self.do(lambda: self.life.redeem(group, path, server), self.model)

    @happens_to(*NOT_HELD)
    def redeem_in_vain(self, who):
        group, path = self.pick(who, *NOT_HELD)
        self.do(lambda: self.life.redeem(group, path), self.model)

    @stateful.precondition(lambda self: self.model.served())
    @stateful.rule(
        who=WHO,
        # Only in cell0 does it matter that a server still owns something.
        fate=st.sampled_from(
            [*ENDS, ServerOutcome.UNSCHEDULED, ServerOutcome.UNSCHEDULED]
        ),
        is_gone=st.booleans(),
        death=DEATHS,
    )
    def end_server(self, who, fate, is_gone, death):
        """A server ends, and gives its capacity back, or not yet."""
        served = self.model.served()
        group, path = served[who % len(served)]
        server = self.model.seat(group, path).server
        self.life.fates[server] = fate
        after = self.model.copy()
        # What Nova leaves to one that it has deleted, the reaper empties.
        if is_gone or fate == ServerOutcome.DELETED:
            self.life.remove(server)
            is_held_again = (
                CONF.vrt.rehold_after_server_end
                and self.model.groups[group].is_current()
            )
            end = Member.HELD if is_held_again else ENDS[fate]
            after.change(group, path, end)
        elif fate == ServerOutcome.UNSCHEDULED:
            is_current = self.model.groups[group].is_current()
            end = Member.HELD if is_current else Member.FAILED
            after.change(group, path, end)
        # The next reaper follows, when one has died.
        self.do(lambda: self.life.reap(0), after, death, before=after)

    # -- Placement ---------------------------------------------------------

    @stateful.rule(seconds=st.sampled_from([0, life.LATER]), death=DEATHS)
    def reap(self, seconds, death):
        """Where all is well, a reaper changes nothing."""
        self.do(lambda: self.life.reap(seconds), self.model, death)

    @happens_to(Member.HELD, death=DEATHS)
    def remove_hold(self, who, death):
        """As ``nova-manage placement audit --delete`` does."""
        group, path = self.pick(who, Member.HELD)
        self.life.remove(self.life.hold(group, path).uuid)
        self.do(lambda: self.life.reap(0), self.model, death)

    @happens_to(Member.HELD)
    def take_the_place_of_a_hold(self, who):
        """Somebody removes a hold, and somebody else fills the host."""
        group, path = self.pick(who, Member.HELD)
        provider = self.model.seat(group, path).provider
        has_fillers = self.model.occupied(provider) > self.model.used(provider)
        seats = self.model.room(provider) + 1
        self.life.remove(self.life.hold(group, path).uuid)
        after = self.model.copy()
        after.strangers[self.life.fill(provider, seats)] = provider, seats
        if not has_fillers:
            after.change(group, path, Member.FAILED)
        self.do(lambda: self.life.reap(0), after)

    @happens_to(Member.HELD, less=st.integers(1, 3))
    def reap_too_much(self, who, less):
        """A host is smaller than what is on it: its holds give way."""
        group, path = self.pick(who, Member.HELD)
        provider = self.model.seat(group, path).provider
        after = self.model.copy()
        for each in self.losers(provider, less):
            after.change(*each, Member.FAILED)
        with self.smaller(provider, self.model.occupied(provider) - less):
            self.do(lambda: self.life.reap(0), after)

    @happens_to(Member.HELD, less=st.integers(1, 3))
    def redeem_too_much(self, who, less):
        group, path = self.pick(who, Member.HELD)
        provider = self.model.seat(group, path).provider
        server = uuidutils.generate_uuid()
        after = self.model.copy()
        if (group, path) in self.losers(provider, less):
            after.change(group, path, Member.FAILED)
        else:
            after.change(group, path, Member.ACTIVE, server)
        with self.smaller(provider, self.model.occupied(provider) - less):
            self.do(lambda: self.life.redeem(group, path, server), after)

    def losers(self, provider, less):
        """Return whom a host loses that has so many seats too few.

        Fillers go first, then the highest uuids.
        """
        placeholder_holds = self.model.occupied(provider) - self.model.used(
            provider
        )
        by_uuid = {
            self.life.hold(*each).uuid: each
            for each in self.model.there(Member.HELD)
            if self.model.seat(*each).provider == provider
        }
        highest_first = [by_uuid[u] for u in sorted(by_uuid, reverse=True)]
        return highest_first[: max(0, less - placeholder_holds)]

    @contextlib.contextmanager
    def smaller(self, provider, seats, at=None):
        """Let a provider have only so many seats meanwhile.

        :param at: from which point on; from the beginning by default
        """
        if at is None:
            self.life.resize(provider, seats)
        else:
            self.test.at(at, lambda: self.life.resize(provider, seats))
        yield
        self.life.resize(provider, self.model.providers[provider])
        self.life.keep()

    @stateful.rule(number=st.integers(0, len(SEATS) - 1))
    def stranger_comes(self, number):
        provider = self.providers[number]
        has_room = self.model.room(provider)
        consumer = self.life.fill(provider)
        if has_room:
            self.model.strangers[consumer] = provider, 1

    @stateful.rule()
    def strangers_leave(self):
        leaving, after = [*self.model.strangers], self.model.copy()
        after.strangers.clear()
        self.do(lambda: self.life.remove(*leaving), after)

    # -- what has to be ----------------------------------------------------

    def do(self, work, after, death=None, before=None):
        """Do something; whether it came to what it should is seen later."""
        outcomes = [after]
        if self.test.is_dead_after(work, death):
            outcomes.append(self.model if before is None else before)
            self.life.reap()
        self.life.keep()
        seen = self.seen()
        fitting = (each for each in outcomes if each.shown() == seen)
        self.model = next(fitting, after)

    def seen(self):
        """Return what there is, as Model.shown()."""
        uuids = objects.VRTGroup.uuids(self.life.context).values()
        return {each: self._seen(self.life.group(each)) for each in uuids}

    def _seen(self, group):
        holds = objects.VRTHold.list_by_group(
            self.life.context, group.id, states.Hold.REDEEMED
        )
        redeemed = {hold.member_id for hold in holds}
        return group.status, {
            member.path: model.Seat(
                member.status,
                member.description['seat']['provider'],
                member.server_uuid if member.id in redeemed else None,
            )
            for member in group.members
        }

    @stateful.invariant()
    def groups_are_what_their_members_make_of_them(self):
        self.test.assertEqual(self.model.shown(), self.seen())

    @stateful.invariant()
    def everything_is_owned_once(self):
        books = self.test.assert_at_rest(self.model.strangers)
        for provider, seats in self.model.providers.items():
            occupied = self.model.occupied(provider)
            self.test.assertLessEqual(occupied, seats)
            used = sum(
                part[provider]['resources']['VCPU']
                for part in books.values()
                if provider in part
            )
            self.test.assertEqual(occupied * life.AMOUNT, used)

    def teardown(self):
        for group in [*self.model.groups]:
            self.life.delete(group)
            self.model.delete(group)
        self.life.remove(*self.model.strangers)
        self.test.assertEqual({}, self.life.books())
        self.test.assertEqual({}, self.life.rows())

    def pick(self, who, *statuses):
        there = self.model.there(*statuses)
        return there[who % len(there)]


class TestWholeLife(life.LifeTestCase):
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
        """Return a new uuid; which of two is higher can be replayed."""
        high = random.getrandbits(32) << 96
        return str(uuid.UUID(int=high | uuid.uuid4().int >> 32))

    def lead(self, seed):
        stateful.run_state_machine_as_test(
            hypothesis.seed(seed)(lambda: WholeLife(self)),
            settings=hypothesis.settings(
                max_examples=LIVES_PER_SEED,
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
        TestWholeLife,
        f'test_everything_is_owned_once_in_lives_{_seed}',
        lambda self, seed=_seed: self.lead(seed),
    )
