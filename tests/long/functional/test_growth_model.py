# SPDX-License-Identifier: Apache-2.0
"""Random lives of a group that grows, compared with a model of its members.

Each example is a sequence of requests by tenants' tools, sent to the API of
the try-out cloud. After each of them the status code has to be the model's,
and after each round of the reaper all members.
"""

import time
from typing import NamedTuple

import hypothesis
from hypothesis import strategies
from novaclient import exceptions as nova_exc
from testtools import content

from nova_groupext.cloud import image
from tests import shares
from tests.functional import base
from tests.functional import changing_cloud
from tests.functional import growing
from tests.long.functional import growth_model
from tests.long.functional.growth_model import Described

# A hint of Nova's own, for server groups: any member of the group
STOCK = 'group'
IMAGES = ('cirros', 'cirros-next', 'cirros-uefi', 'cirros-broken')
IMAGE_NAMES = {image.image_id(name): name for name in IMAGES}
BROKEN = 'cirros-broken'
DESCRIBED_IMAGES = ('cirros', 'cirros-next', 'cirros-uefi')
WITH_SERVER = (growth_model.ACTIVE, growth_model.LEAVING)
OPERATIONS = 12
EXAMPLES = 60
# Seconds in which the members have to be as the model has them
PATIENCE, PAUSE = 8, 0.1


class Create(NamedTuple):
    """A create of servers that match a description, or fail, or differ."""

    hint: str = 'w'
    image: str = 'cirros'
    number: int = 1
    reap: bool = True


class Delete(NamedTuple):
    """A delete of one of the servers that there are, in their order."""

    index: int = 0
    reap: bool = True


class Put(NamedTuple):
    """A revision of the whole definition."""

    w: Described
    db: Described = Described()
    reap: bool = True


class Release(NamedTuple):
    """A release of members, by their paths."""

    paths: tuple[str, ...]
    reap: bool = True


@strategies.composite
def definitions(draw):
    """Draw the definition of some workers."""
    count = draw(strategies.integers(0, 3))
    more = draw(strategies.integers(0, 2) | strategies.none())
    max_count = None if more is None else max(1, count + more)
    return Described(
        draw(strategies.sampled_from(DESCRIBED_IMAGES)),
        max(1, count) if max_count is None else count,
        max_count,
        draw(strategies.integers(0, 2)),
    )


PATHS = ('w-0', 'w-1', 'w-2', 'w-4', 'db')
# The bulk of a tool's requests: any of the workers, described as they are.
HINTS = ('w', 'w', 'w', *PATHS, '/', STOCK)
CREATES = strategies.builds(
    Create,
    strategies.sampled_from(HINTS),
    strategies.sampled_from(['cirros', 'cirros', *IMAGES]),
    strategies.sampled_from([1, 1, 1, 2]),
    strategies.booleans(),
)
DELETES = strategies.builds(
    Delete, strategies.integers(0, 9), strategies.booleans()
)
DATABASES = strategies.builds(
    Described,
    strategies.sampled_from(['cirros', 'cirros-uefi']),
    max_surge=strategies.integers(0, 1),
)
PUTS = strategies.builds(Put, definitions(), DATABASES, strategies.booleans())
RELEASES = strategies.builds(
    Release,
    strategies.lists(
        strategies.sampled_from(PATHS), min_size=1, max_size=2, unique=True
    ).map(tuple),
)
STEPS = strategies.sampled_from(
    [*[CREATES] * 10, *[DELETES] * 4, *[PUTS] * 3, *[RELEASES] * 2]
).flatmap(lambda kind: kind)


def needs_news(operation):
    """Check whether the group has to have noticed what went before.

    Of two servers that go the first has to be noticed first; a revision and a
    release are about the servers that the group knows of.
    """
    return isinstance(operation, Delete | Put | Release) or (
        isinstance(operation, Create) and operation.image == BROKEN
    )


def path_of(hint):
    return '' if hint in ('/', STOCK) else hint


def definition_of(put):
    return {'db': put.db, 'w': put.w}


def counts_of(described):
    counts = {'count': described.count, 'max_count': described.max_count}
    return {k: v for k, v in counts.items() if v is not None}


class TestGrowthModel(growing.GrowingCase):
    """Groups of a database and some workers, on hosts with plenty of room."""

    HOSTS = changing_cloud.ChangingCloudTestCase.HOSTS

    def setUp(self):
        super().setUp()
        self.operations = []
        self.addOnException(self._add_operations)

    def _add_operations(self, _failure):
        text = '\n'.join(map(str, self.operations))
        self.addDetail('operations', content.text_content(text))

    @shares.with_share_of_examples(EXAMPLES, shrinks=False)
    @hypothesis.given(
        definitions(),
        strategies.lists(STEPS, min_size=OPERATIONS, max_size=OPERATIONS),
    )
    def test_group_is_as_the_model_after_any_operations(self, w, operations):
        self.play(Put(w), *operations)

    # -- what tools do -------------------------------------------------------
    #
    # Full hosts, absent planners, servers in cell0 and those that are still
    # being deleted are in test_growing, test_growing_many and test_replacing.

    def test_group_is_scaled_out_and_in_and_out(self):
        self.play(
            Put(Described(count=2, max_count=4, max_surge=2)),
            *[Create()] * 4,
            Create(number=3),
            Delete(0),
            Put(Described(count=3, max_count=4, max_surge=2)),
            Create(),
        )

    def test_servers_stay_when_a_smaller_count_is_taken_back(self):
        three = Described(count=3, max_surge=1)
        self.play(
            Put(three),
            *(Create('w-0'), Create('w-1'), Create('w-2')),
            Put(Described(count=1, max_surge=1)),
            Put(three),
        )

    def test_any_server_may_go_when_the_count_shrinks(self):
        self.play(
            Put(Described(count=3, max_surge=1)),
            *(Create('w-0'), Create('w-1'), Create('w-2')),
            Put(Described(count=2, max_surge=1)),
            *(Create('w-2'), Delete(0), Delete(1)),
        )

    def test_indexes_that_a_removal_policy_leaves_out_are_not_needed(self):
        self.play(
            Put(Described(count=2)),
            *(Create('w-0'), Create('w-2')),
            Put(Described(count=3)),
            Create('w-3'),
        )

    def test_extra_server_in_service_during_an_update_goes_last(self):
        self.play(
            Put(Described(count=2, max_surge=2)),
            *(Create('w-0'), Create('w-1'), Create('w-2')),
            *(Create('w-1'), Delete(1), Create('w-0'), Delete(0)),
            Delete(0),
        )

    def test_machines_of_an_old_set_are_replaced_one_by_one(self):
        self.play(
            Put(Described(count=2)),
            *(Create(), Create()),
            Put(Described('cirros-uefi', count=2)),
            *(Delete(1), Create()),
            *(Delete(0), Create(image='cirros-uefi')) * 2,
        )

    def test_successors_of_a_rolling_update_follow_one_by_one(self):
        self.play(
            Put(Described(count=2, max_count=2, max_surge=1)),
            *[Create()] * 4,
            *(Delete(0, reap=False), Create(), Delete(0)),
        )

    def test_successor_is_kept_by_a_larger_count(self):
        self.play(
            Put(Described(count=1, max_surge=1)),
            *(Create(), Create()),
            Put(Described(count=2, max_surge=1)),
        )

    def test_failed_builds_leave_their_members_to_the_next_creates(self):
        self.play(
            Put(Described(count=1, max_count=2, max_surge=1)),
            *(Create(image=BROKEN), Create(), Create(image=BROKEN)),
            *(Create('w-0', BROKEN), Create('w-0'), Delete(1), Create()),
        )

    def test_successor_of_any_follows_in_a_set_that_is_alike(self):
        self.play(
            Put(Described(count=1, max_surge=1)),
            *(Create('db'), Create(), Create(STOCK)),
            *(Delete(0, reap=False), Create('w-2')),
        )

    def test_successor_of_any_follows_in_a_set_revised_to_be_alike(self):
        db = Described(max_surge=1)
        self.play(
            Put(Described('cirros-uefi', count=1), db),
            *(Create('db'), Create('/')),
            *(Put(Described(count=2), db), Delete(1), Create('w-1')),
        )

    def test_successor_of_any_follows_in_a_set_of_a_like_image(self):
        self.play(
            Put(Described('cirros-next', count=1, max_surge=1)),
            *(Create('w'), Create(STOCK, number=2), Delete(1)),
        )

    def test_name_of_a_successor_is_refused_to_others(self):
        self.play(
            Put(Described(count=1, max_surge=2)),
            *(Create('w-0'), Create('w-5'), Create('w-5')),
            Put(Described(count=2, max_count=3, max_surge=2)),
        )

    def test_successor_of_a_former_image_is_pending_as_a_member(self):
        self.play(
            Put(Described(count=1, max_surge=1)),
            *(Create('w-0'), Create('w-4')),
            Put(Described('cirros-next', count=1, max_count=3, max_surge=1)),
        )

    def test_successor_of_a_former_description_follows_where_it_fits(self):
        uefi = Described('cirros-uefi')
        self.play(
            Put(Described('cirros-uefi', count=1), uefi),
            *(Create(STOCK, 'cirros-uefi'), Create(STOCK, 'cirros-uefi')),
            Put(Described('cirros', count=1, max_surge=1), uefi),
            *(Create('/', 'cirros-uefi'), Delete(0)),
        )

    def test_successor_of_a_former_description_follows_in_its_own_set(self):
        """The other set is described as its own one is now."""
        self.play(
            Put(Described('cirros-next', count=0, max_count=1)),
            Create('db'),
            Put(
                Described('cirros-uefi', count=1, max_count=3),
                Described('cirros-uefi', max_surge=1),
            ),
            *(Create('/'), Delete(0), Create('/', 'cirros-uefi')),
        )

    def test_former_description_of_a_server_that_has_gone_is_a_conflict(self):
        uefi = Described('cirros-uefi', count=1, max_surge=1)
        self.play(
            Put(Described(count=1)),
            *(Create('w-0'), Put(uefi), Create('w-0')),
            *(
                Delete(0),
                Delete(0),
                Create('w-0'),
                Create(image='cirros-uefi'),
            ),
        )

    def test_server_of_a_former_description_is_as_that_describes_it(self):
        """Its own image is only like the described one."""
        self.play(
            Put(Described('cirros-next', count=1, max_surge=1)),
            Create('w-0'),
            Put(Described('cirros-uefi', count=1, max_surge=1)),
            *(Create('w-0'), Delete(0)),
            Put(Described('cirros-next', count=1, max_surge=1)),
        )

    def test_released_member_is_a_conflict_until_a_revision(self):
        two = Put(Described(count=2))
        self.play(
            *(two, Release(('w-1',)), Create(), Delete(), Create()),
            *(Create(), Create('w-1'), Create('w-4'), two, Create()),
        )

    def test_new_index_is_a_conflict_while_a_successor_waits(self):
        self.play(
            Put(Described(count=1, max_surge=1)),
            *(Create(), Create('w-2'), Create('w-4')),
        )

    # -- sequences -----------------------------------------------------------

    def play(self, first, *operations):
        """Describe a group, and compare it after each operation."""
        self.operations[:] = [first]
        self.model = growth_model.GrowthModel(definition_of(first))
        self.numbers, self.servers = {}, {}
        self.uuid = self.hold_group(self.topology(definition_of(first)))['id']
        try:
            self.compare()
            for operation in operations:
                self.step(operation)
        finally:
            self.delete_servers(*self.servers.values())
            self.delete_group(self.uuid)

    def step(self, operation):
        """Send a request, unless there is nothing that it could be about."""
        if isinstance(operation, Delete) and not self.servers:
            return
        self.operations.append(operation)
        send, follow = {
            Create: (self.create_servers, self.follow_create),
            Delete: (self.delete_server, self.follow_delete),
            Put: (self.revise, self.follow_put),
            Release: (self.release, self.follow_release),
        }[type(operation)]
        if needs_news(operation):
            self.reaped_statuses()
        try:
            follow(operation)
            expected = 202
        except growth_model.Refused as exc:
            expected = exc.code
        self.assertEqual(expected, send(operation), operation)
        if operation.reap:
            self.compare()

    # -- the model -----------------------------------------------------------

    def follow_create(self, create):
        numbers = self.model.create(
            path_of(create.hint), create.image, create.number
        )
        if create.image == BROKEN:
            for number in numbers:
                self.model.fail_build(number)

    def follow_delete(self, delete):
        self.model.delete(self.chosen(delete))

    def follow_put(self, put):
        self.model.put(definition_of(put))

    def follow_release(self, release):
        self.model.release(release.paths)

    # -- requests ------------------------------------------------------------

    def create_servers(self, create):
        """Create servers and wait for their builds; return the status."""
        nova = self.cloud.nova('demo')
        hints = (
            {'group': self.uuid}
            if create.hint == STOCK
            else base.member_hints(self.uuid, create.hint)
        )
        try:
            reservation = nova.servers.create(
                'server',
                image.image_id(create.image),
                nova.flavors.find(name='m1.tiny'),
                nics='none',
                min_count=create.number,
                reservation_id=True,
                scheduler_hints=hints,
            )
        except nova_exc.ClientException as exc:
            return exc.code
        new = nova.servers.list(search_opts={'reservation_id': reservation})
        for server in sorted(new, key=lambda each: each.name):
            self.count_server(server, create)
        return 202

    def count_server(self, server, create):
        """Give a new server the next number, and wait for its build."""
        number = len(self.numbers) + 1
        self.numbers[server.id], self.servers[number] = number, server
        status = self.wait_for_build(server).status
        self.assertEqual(
            'ERROR' if create.image == BROKEN else 'ACTIVE', status, create
        )

    def delete_server(self, delete):
        self.delete(self.servers.pop(self.chosen(delete)))
        return 202

    def chosen(self, delete):
        numbers = sorted(self.servers)
        return numbers[delete.index % len(numbers)]

    def revise(self, put):
        generation = self.group(self.uuid)['generation']
        response = self.api().put(
            f'{base.GROUPS}/{self.uuid}',
            json={
                'vrt_group': {
                    'generation': generation,
                    'topology': self.topology(definition_of(put)),
                }
            },
        )
        self.eventually(
            self.group,
            lambda now: (
                now['revision'] is None and now['status'] != 'PLANNING'
            ),
            self.uuid,
        )
        return response.status_code

    def release(self, release):
        body = {'members': list(release.paths)}
        return self.act(self.uuid, 'release', body).status_code

    @staticmethod
    def topology(definition):
        return {
            'members': {
                path: base.member(
                    image=image.image_id(described.image),
                    max_surge=described.max_surge,
                    **counts_of(described),
                )
                for path, described in definition.items()
            }
        }

    # -- answers -------------------------------------------------------------

    def compare(self):
        """Assert that the members are shown as the model has them."""
        deadline = time.monotonic() + PATIENCE
        expected = self.model.show()
        while (shown := self.shown()) != expected:
            if time.monotonic() > deadline:
                self.assertEqual(expected, shown, self.operations[-1])
            time.sleep(PAUSE)

    def shown(self):
        self.reaped_statuses()
        return sorted(map(self._view, self.members()))

    def _view(self, member):
        """Return a member in the form of the model's."""
        server = None
        # The server of a member that is TENTATIVE or FAILED is the last one.
        if member['status'] in WITH_SERVER:
            server = self.numbers[member['server_id']]
        successor = member['successor']
        return (
            member['path'],
            member['status'],
            server,
            member['grown'],
            successor and self.numbers[successor['server_id']],
            member['pending'] and self._view_pending(member['pending']),
        )

    @staticmethod
    def _view_pending(pending):
        # A former image may be shown as the described one that it is like.
        former, described = (
            IMAGE_NAMES[pending[end]['image']] for end in ('from', 'to')
        )
        return growth_model.firmware(former), described
