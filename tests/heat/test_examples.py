# SPDX-License-Identifier: Apache-2.0
"""The templates of the documentation."""

from tests import environments
from tests.heat import base

EXAMPLES = environments.TOP / 'doc/source/examples/heat'
# Members of each template
MEMBERS = {
    'three-tier': 6,
    'spread-workers': 7,
    'autoscaling': 2,
    'database': 3,
    'server-group-after': 3,
}
STOCK = 'server-group-before'


class TestExamples(base.HeatTestCase):
    def test_every_example_is_here(self):
        names = {each.stem for each in EXAMPLES.glob('*.yaml')}

        self.assertEqual({*MEMBERS, STOCK}, names)

    def create(self, name):
        text = (EXAMPLES / f'{name}.yaml').read_text()

        status = self.create_stack(text)

        self.assertEqual('CREATE_COMPLETE', status[0], status)

    def check(self, name):
        self.create(name)
        self.assertEqual(
            ['ACTIVE'] * MEMBERS[name], [*self.statuses().values()]
        )

    def test_template_with_a_server_group_can_move_over(self):
        self.create(STOCK)
        self.assertEqual(3, len(self.servers()))
        self.delete_stack()

        self.check('server-group-after')

    def test_three_tier_web_shop(self):
        self.check('three-tier')

    def test_workers_that_are_spread_over_racks(self):
        self.check('spread-workers')

    def test_workers_that_are_scaled(self):
        self.check('autoscaling')

    def test_database_that_survives_the_loss_of_a_rack(self):
        self.check('database')
