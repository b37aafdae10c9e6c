# SPDX-License-Identifier: Apache-2.0
"""Unit tests of ``nova_groupext/scheduler/look/kept_reading.py``."""

import dataclasses
import types

import fixtures
from nova import context as nova_context
from oslotest import base

from nova_groupext.conf import CONF
from nova_groupext.scheduler.look import kept_reading
from nova_groupext.scheduler.placement import queries

# 80 hosts with capacity for three members, and a full one.
HOSTS = [f'cmp-{number}' for number in range(80)]
FULL = 'cmp-full'
INVENTORY = {
    'total': 4,
    'reserved': 0,
    'allocation_ratio': 1.0,
    'min_unit': 1,
    'max_unit': 4,
    'step_size': 1,
}
PROVIDERS = {name: f'uuid-{name}' for name in (*HOSTS, FULL)}


class FakePlacement:
    """Placement's providers.

    :ivar usages: {provider: {class: amount}}
    :ivar traits_of: {provider: traits}, of those that have any
    :ivar asked: providers that were read
    """

    def __init__(self):
        self._generations = dict.fromkeys(PROVIDERS.values(), 7)
        self.usages = {each: {'VCPU': 1} for each in PROVIDERS.values()}
        self.traits_of = {}
        self.asked = set()

    def generations(self, _context):
        return dict(self._generations)

    def total_usage(self, _context, provider):
        self.asked.add(provider)
        return self.usages[provider]

    def inventories(self, _context, _provider):
        return {'VCPU': INVENTORY}

    def traits(self, _context, provider):
        return self.traits_of.get(provider, [])

    def aggregates(self, _context, _provider):
        return []

    def use(self, provider, amount):
        self.usages[provider] = {'VCPU': amount}
        self._generations[provider] = self._generations.get(provider, 0) + 1


class FakeHosts:
    """A HostManager."""

    is_complete = has_same = True

    def has_same_aggregates(self, _context):
        return self.has_same


class KeptReadingTestCase(base.BaseTestCase):
    def setUp(self):
        super().setUp()
        self.useFixture(
            fixtures.MonkeyPatch(
                'nova_groupext.scheduler.look.kept_reading.MIN_HOSTS',
                len(PROVIDERS),
            )
        )
        self.placement = FakePlacement()
        self.kept = kept_reading.KeptReading()
        self.reading = kept_reading.Reading(
            hosts={
                name: types.SimpleNamespace(uuid=uuid)
                for name, uuid in PROVIDERS.items()
            },
            host_manager=FakeHosts(),
            generations=self.placement.generations(None),
            began=kept_reading.time.monotonic(),
            summaries={PROVIDERS[name]: summary(name) for name in HOSTS},
            found={
                name: kept_reading.FoundHosts(
                    {host: [request(host, amount)] for host in HOSTS},
                    *({}, [], query(amount)),
                )
                for name, amount in (('small', 1), ('large', 2))
            },
        )

    def begin(self, *, may_be_old=True):
        return self.kept.begin(
            nova_context.get_admin_context(),
            *(self.placement, lambda: None, may_be_old),
        )


class TestBegin(KeptReadingTestCase):
    def setUp(self):
        super().setUp()
        self.kept.keep(self.reading)

    def test_unchanged_cloud_is_as_it_was(self):
        found = self.begin().reading

        self.assertEqual(
            (self.reading.summaries, self.reading.found),
            (found.summaries, found.found),
        )
        self.assertEqual(set(), self.placement.asked)
        self.assertTrue(found.is_kept)

    def test_used_capacity_is_not_offered_any_more(self):
        self.placement.use(PROVIDERS['cmp-1'], 3)

        found = self.begin().reading

        self.assertEqual({PROVIDERS['cmp-1']}, self.placement.asked)
        self.assertEqual(
            ({*HOSTS}, {*HOSTS} - {'cmp-1'}),
            tuple(
                {*found.found[name].candidates} for name in ('small', 'large')
            ),
        )
        usage = found.summaries[PROVIDERS['cmp-1']]['resources']['VCPU']
        self.assertEqual({'capacity': 4, 'used': 3}, usage)

    def test_providers_are_asked_once_for_each_change(self):
        self.placement.use(PROVIDERS['cmp-1'], 3)
        self.begin()
        self.placement.asked.clear()

        self.begin()

        self.assertEqual(set(), self.placement.asked)

    def test_full_host_is_not_asked(self):
        self.placement.use(PROVIDERS[FULL], 0)

        self.assertIsNotNone(self.begin().reading)
        self.assertEqual(set(), self.placement.asked)

    def test_all_is_read_anew_when_many_providers_have_changed(self):
        for name in HOSTS[:2]:
            self.placement.use(PROVIDERS[name], 2)

        self.assertIsNone(self.begin().reading)
        self.assertIsNone(self.kept.find())

    def test_all_is_read_anew_when_there_are_other_providers(self):
        self.placement.use('another', 0)

        self.assertIsNone(self.begin().reading)

    def test_host_with_a_forbidden_trait_is_not_offered_any_more(self):
        provider = PROVIDERS['cmp-1']
        self.placement.use(provider, 1)
        self.placement.traits_of[provider] = ['SLOW']

        found = self.begin().reading.found

        self.assertEqual({*HOSTS} - {'cmp-1'}, {*found['small'].candidates})

    def test_all_is_read_anew_when_aggregates_have_changed(self):
        self.reading.host_manager.has_same = False

        self.assertIsNone(self.begin().reading)

    def test_all_is_read_anew_when_it_must_not_be_old(self):
        start = self.begin(may_be_old=False)

        self.assertIsNone(start.reading)
        self.assertEqual(self.placement.generations(None), start.generations)

    def test_nothing_is_asked_when_nothing_is_to_be_kept(self):
        CONF.set_override('snapshot_max_age', 0, 'vrt')
        self.addCleanup(CONF.clear_override, 'snapshot_max_age', 'vrt')

        self.assertEqual({}, self.begin().generations)


class TestKeep(KeptReadingTestCase):
    def test_small_cloud_is_not_kept(self):
        del self.reading.hosts[FULL]

        self.kept.keep(self.reading)

        self.assertIsNone(self.kept.find())

    def test_incomplete_reading_is_not_kept(self):
        self.reading.host_manager.is_complete = False

        self.kept.keep(self.reading)

        self.assertIsNone(self.kept.find())

    def test_old_reading_is_dropped(self):
        self.kept.keep(self.reading)
        self.assertIsNotNone(self.kept.find())
        CONF.set_override('snapshot_max_age', 1, 'vrt')
        self.addCleanup(CONF.clear_override, 'snapshot_max_age', 'vrt')
        later = self.reading.began + 1
        self.useFixture(
            fixtures.MonkeyPatch(
                'nova_groupext.scheduler.look.kept_reading.time',
                types.SimpleNamespace(monotonic=lambda: later),
            )
        )

        self.assertIsNone(self.kept.find())

    def test_newest_classes_are_kept(self):
        [found, *_others] = self.reading.found.values()
        limit = kept_reading.MAX_CLASSES
        reading = dataclasses.replace(
            self.reading, found=dict.fromkeys(range(limit + 1), found)
        )

        self.kept.keep(reading)

        self.assertEqual([*range(1, limit + 1)], [*self.kept.find().found])

    def test_look_changes_only_its_copy(self):
        self.kept.keep(self.reading)
        copy = self.kept.find().copy()

        copy.found.clear()
        copy.summaries.clear()

        self.assertEqual(
            (self.reading.summaries, self.reading.found),
            (self.kept.find().summaries, self.kept.find().found),
        )


def summary(name):
    return {
        'root_provider_uuid': PROVIDERS[name],
        'resources': {'VCPU': {'capacity': 4, 'used': 1}},
    }


def query(amount):
    return queries.CandidateQuery(
        amounts={'VCPU': amount},
        required=[],
        forbidden=['!SLOW'],
        root_required=[],
        member_of=[],
        not_member_of=[],
    )


def request(name, amount):
    return {
        'allocations': {PROVIDERS[name]: {'resources': {'VCPU': amount}}},
        'mappings': {},
    }
