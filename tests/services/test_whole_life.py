# SPDX-License-Identifier: Apache-2.0
"""Whatever happens to groups, in whatever order: is each member owned once?

A plain model says what has to be; a process that dies leaves either what was
before, or what it was about to make of it.
"""

import copy

import hypothesis
from hypothesis import stateful
from hypothesis import strategies as st
from nova import exception as nova_exc

from nova_groupext import exception
from nova_groupext import faultpoints
from nova_groupext.objects import states
from nova_groupext.scheduler import servers as nova_servers
from tests.services import life
from tests.services import servers

Member = states.Member
Fate = nova_servers.Fate

REFUSALS = (exception.VRTException, nova_exc.NoValidHost)
SEATS = (3, 2)
# A process dies at the so-many-th point that it reaches, or does not.
DEATHS = st.none() | st.integers(0, 12)
WHO = st.integers(0, 20)


def happens_to(*statuses, **more):
    """A rule for a member in one of some states, while there is one."""

    def decorate(rule):
        there = stateful.precondition(lambda self: self.there(*statuses))
        return there(stateful.rule(who=WHO, **more)(rule))

    return decorate


class Died(BaseException):
    """Ends a process without cleaning up: nobody catches it."""


class WholeLife(stateful.RuleBasedStateMachine):
    """Some groups share two providers that have not room for all."""

    def __init__(self, test):
        super().__init__()
        self.test = test
        self.life = test.life
        self.life.providers.clear()
        self.providers = [self.life.make_provider(seats) for seats in SEATS]
        # {group: {path: (its state, its provider)}}
        self.model = {}
        self.strangers = []

    # -- what happens ------------------------------------------------------

    @stateful.rule(
        seats=st.lists(st.sampled_from([0, 1]), min_size=1, max_size=3),
        death=DEATHS,
    )
    def describe(self, seats, death):
        providers = [self.providers[seat] for seat in seats]
        uuid = self.life.describe(providers)
        self.model[uuid] = {
            f'm-{number}': (Member.TENTATIVE, provider)
            for number, provider in enumerate(providers)
        }
        self.plan(uuid, death)

    @happens_to(Member.TENTATIVE, death=DEATHS)
    def hold(self, who, death):
        """Try again to hold a group that found no room."""
        uuid = self.pick(who, Member.TENTATIVE)[0]
        group = self.life.group(uuid)
        if group.status == states.Group.UNDECIDED:
            group.change(self.life.context, states.Group.PLANNING)
            self.plan(uuid, death)

    def plan(self, uuid, death):
        wanted = [
            provider
            for status, provider in self.model[uuid].values()
            if status == Member.TENTATIVE
        ]
        fits = all(
            self.used(provider) + wanted.count(provider) <= seats
            for provider, seats in self.seats()
        )
        after = self.becoming(uuid, {Member.TENTATIVE: Member.HELD})
        if not fits:
            after = self.model
        # Who died is replaced: the group is planned in the end.
        self.do(lambda: self.life.plan(uuid), after, death, before=after)

    @happens_to(Member.HELD, death=DEATHS)
    def redeem(self, who, death):
        uuid, path = self.pick(who, Member.HELD)
        self.do(
            lambda: self.life.redeem(uuid, path),
            self.becoming(uuid, {Member.HELD: Member.ACTIVE}, path),
            death,
        )

    @happens_to(Member.HELD, death=DEATHS)
    def turn_back(self, who, death):
        uuid, path = self.pick(who, Member.HELD)
        self.do(
            lambda: self.life.redeem(uuid, path, scheduler=life.Refusing),
            self.model,
            death,
        )

    @happens_to(Member.ACTIVE)
    def redeem_twice(self, who):
        uuid, path = self.pick(who, Member.ACTIVE)
        self.do(lambda: self.life.redeem(uuid, path), self.model)

    @happens_to(
        Member.ACTIVE,
        end=st.sampled_from(
            [
                (Fate.DELETED, Member.RELEASED),
                (Fate.BROKEN, Member.FAILED),
                (Fate.UNSCHEDULED, Member.FAILED),
                (Fate.UNKNOWN_TO_NOVA, Member.FAILED),
            ]
        ),
        death=DEATHS,
    )
    def end_server(self, who, end, death):
        fate, status = end
        uuid, path = self.pick(who, Member.ACTIVE)
        server = self.life.member(uuid, path).server_uuid
        self.life.fates[server] = fate
        self.life.remove(server)
        # The next reaper follows, when one has died.
        after = self.becoming(uuid, {Member.ACTIVE: status}, path)
        self.do(lambda: self.life.reap(0), after, death, before=after)

    @happens_to(*states.GIVES_UP, death=DEATHS)
    def release(self, who, death):
        uuid, path = self.pick(who, *states.GIVES_UP)
        self.life.give_up(uuid, path)
        after = self.becoming(
            uuid, dict.fromkeys(states.GIVES_UP, Member.RELEASED), path
        )
        self.do(lambda: self.life.release(uuid), after, death, before=after)

    @happens_to(Member.HELD, death=DEATHS)
    def expire(self, who, death):
        uuid, _path = self.pick(who, Member.HELD)
        self.life.expire(uuid)
        after = self.becoming(uuid, {Member.HELD: Member.RELEASED})
        self.do(lambda: self.life.reap(0), after, death, before=after)

    @happens_to(*Member, death=DEATHS)
    def delete(self, who, death):
        uuid, _path = self.pick(who, *Member)
        self.life.mark_deleted(uuid)
        after = copy.deepcopy(self.model)
        for status, provider in after.pop(uuid).values():
            if status == Member.ACTIVE:
                self.strangers.append(provider)
        self.do(lambda: self.life.release(uuid), after, death, before=after)

    @happens_to(Member.HELD, death=DEATHS)
    def remove_hold(self, who, death):
        """As ``nova-manage placement audit --delete`` does."""
        uuid, path = self.pick(who, Member.HELD)
        self.life.remove(self.life.hold(uuid, path).uuid)
        self.do(lambda: self.life.reap(0), self.model, death)

    @happens_to(Member.HELD)
    def take_the_place_of_a_hold(self, who):
        """Somebody removes a hold, and somebody else fills the host."""
        uuid, path = self.pick(who, Member.HELD)
        _status, provider = self.model[uuid][path]
        room = dict(self.seats())[provider] - self.used(provider)
        self.life.remove(self.life.hold(uuid, path).uuid)
        self.life.fill(provider, room + 1)
        self.strangers.extend((room + 1) * [provider])
        self.do(
            lambda: self.life.reap(0),
            self.becoming(uuid, {Member.HELD: Member.FAILED}, path),
        )

    @stateful.rule()
    def strangers_leave(self):
        known = self.life.owners().books()
        for consumer in self.life.books():
            if consumer not in known:
                self.life.remove(consumer)
        self.strangers.clear()

    # -- what has to be ----------------------------------------------------

    def do(self, work, after, death=None, before=None):
        """Do something, and see that the model comes to the same."""
        outcomes = [after]
        if self.is_dead_after(work, death):
            outcomes.append(self.model if before is None else before)
            self.life.reap()
        actual = {
            uuid: {
                member.path: (member.status, member.request['provider'])
                for member in self.life.group(uuid).members
            }
            for uuid in self.model
            if self.life.find(uuid) is not None
        }
        self.test.assertIn(actual, outcomes)
        self.model = actual

    @staticmethod
    def is_dead_after(work, death):
        points = iter(range(100))

        def trap(_point):
            if next(points) == death:
                raise Died

        faultpoints.trap = trap
        try:
            work()
        except REFUSALS:
            return False
        except Died:
            return True
        finally:
            faultpoints.trap = None
        return False

    @stateful.invariant()
    def everything_is_owned_once(self):
        books, known = self.life.books(), self.life.owners().books()
        self.test.assert_at_rest(set(books) - set(known))
        for provider, seats in self.seats():
            used = sum(
                part[provider]['resources']['VCPU']
                for part in books.values()
                if provider in part
            )
            self.test.assertEqual(self.used(provider) * life.AMOUNT, used)
            self.test.assertLessEqual(used, seats * life.AMOUNT)

    def teardown(self):
        for uuid in self.model:
            self.life.delete(uuid)
        self.strangers_leave()
        self.test.assertEqual({}, self.life.books())
        self.test.assertEqual({}, self.life.rows())

    # -- the model ---------------------------------------------------------

    def seats(self):
        return zip(self.providers, SEATS, strict=True)

    def used(self, provider):
        """Return how many seats of a provider are taken."""
        owned = [
            each
            for members in self.model.values()
            for status, each in members.values()
            if status in (Member.HELD, Member.ACTIVE)
        ]
        return (owned + self.strangers).count(provider)

    def there(self, *statuses):
        """Return [(group, path)] of the members in one of some states."""
        return [
            (uuid, path)
            for uuid, members in self.model.items()
            for path, (status, _provider) in members.items()
            if status in statuses
        ]

    def pick(self, who, *statuses):
        there = self.there(*statuses)
        return there[who % len(there)]

    def becoming(self, uuid, changes, *paths):
        """Return the model with members of a group in other states."""
        after = copy.deepcopy(self.model)
        for path, (status, provider) in self.model[uuid].items():
            if not paths or path in paths:
                after[uuid][path] = changes.get(status, status), provider
        return after


class TestWholeLife(life.LifeTestCase):
    SERVER = servers.SQLITE

    def test_everything_is_owned_once(self):
        self.addCleanup(setattr, faultpoints, 'trap', None)
        stateful.run_state_machine_as_test(
            lambda: WholeLife(self),
            settings=hypothesis.settings(
                max_examples=10,
                stateful_step_count=15,
                deadline=None,
                database=None,
                # To make a failure shorter would take minutes.
                phases=[hypothesis.Phase.generate],
                print_blob=True,
            ),
        )
