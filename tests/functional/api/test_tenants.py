# SPDX-License-Identifier: Apache-2.0
"""Groups as tenants see them: opaque domains, and no foreign groups."""

from nova_groupext.cloud import accounts
from nova_groupext.cloud import hosts
from tests.functional import base

HOSTS = (
    hosts.Host('secret-host-1', 'secret-rack-1', 'az1', vcpus=8),
    hosts.Host('secret-host-2', 'secret-rack-2', 'az2', vcpus=8),
)
SPREAD = {'type': 'spread', 'scope': 'rack'}
# Two racks, three members that want one each: proved impossible.
IMPOSSIBLE = {
    'members': {'a': base.member(count=3)},
    'policies': [{'type': 'anti-affinity', 'scope': 'rack'}],
}
NOTHING = '7f3a9d0c-0b0e-4d3f-8d8e-0a8f2b1c9d10'


class TestTenants(base.GroupTestCase):
    HOSTS = HOSTS

    def two(self, user='demo', **values):
        """Describe a group of two members in two racks."""
        return self.describe(
            {'members': {'a': base.member(count=2)}, 'policies': [SPREAD]},
            user,
            **values,
        )

    def calls(self, uuid):
        """Return the calls of the API as (method, path, body)."""
        path = f'{base.GROUPS}/{uuid}'
        return [
            ('GET', base.GROUPS, None),
            ('GET', f'{base.GROUPS}/detail', None),
            ('GET', f'{base.GROUPS}/capabilities', None),
            ('GET', path, None),
            ('POST', f'{path}/action', {'hold': None}),
            ('POST', f'{path}/action', {'extend': None}),
            ('POST', f'{path}/action', {'release': {'members': ['a-0']}}),
            ('DELETE', path, None),
        ]

    def call(self, user, method, path, body=None):
        return self.api(user).request(path, method, json=body)

    def test_no_answer_names_a_host_a_rack_or_a_provider(self):
        secrets = [
            secret
            for host in self.HOSTS
            for secret in (
                host.name,
                host.rack,
                self.cloud.provider(host.name),
            )
        ]
        answers = []
        for group in (
            self.two(),
            self.two(hold=False),
            self.describe(IMPOSSIBLE),
        ):
            answers += [
                self.call('demo', *each) for each in self.calls(group['id'])
            ]
        answers.append(
            self.post(
                topology={
                    'members': {
                        'a': base.member(
                            availability_zone=f'az1:{NOTHING}',
                        )
                    }
                }
            )
        )

        for response in answers:
            told = [s for s in secrets if s in response.text]
            self.assertEqual([], told, response.text)

    def test_tenant_sees_opaque_domain_ids(self):
        one, two = self.two()['members']

        self.assertEqual({'host', 'rack', 'zone'}, set(one['domains']))
        self.assertNotEqual(one['domains']['rack'], two['domains']['rack'])
        self.assertEqual(
            {'az1', 'az2'},
            {one['domains']['zone'], two['domains']['zone']},
        )
        for level in ('host', 'rack'):
            self.assertRegex(one['domains'][level], '^[0-9a-f]{56}$')

    def test_domain_ids_are_stable_within_a_project_only(self):
        def racks(group):
            return {each['domains']['rack'] for each in group['members']}

        first, second = self.two(), self.two()

        self.assertEqual(racks(first), racks(second))
        self.assertFalse(racks(first) & racks(self.two('other')))

    def test_an_admin_sees_hosts_costs_and_statistics(self):
        group = self.two()

        seen = self.group(group['id'], 'admin')

        self.assertEqual(
            {host.name for host in self.HOSTS},
            {member['host'] for member in seen['members']},
        )
        self.assertEqual(0, seen['cost']['soft'])
        self.assertIn('seconds', seen['stats'])
        self.assertEqual(
            group['members'][0]['domains'], seen['members'][0]['domains']
        )
        self.assertFalse({'cost', 'stats'} & set(group))

    def test_refusal_names_the_conflicting_policy(self):
        group = self.describe(IMPOSSIBLE)

        self.assertEqual('REFUSED', group['status'], group)
        self.assertIn(
            {'type': 'anti-affinity', 'scope': 'rack'},
            [each.get('policy') for each in group['refusal']['conflict']],
        )
        self.assertEqual([{}] * 3, [m['domains'] for m in group['members']])

    def test_group_of_another_project_is_not_found(self):
        group = self.two()

        for method, path, body in self.calls(group['id'])[3:]:
            response = self.call('other', method, path, body)
            self.assertEqual(404, response.status_code, response.text)
            unknown = self.call(
                'other', method, path.replace(group['id'], NOTHING), body
            )
            self.assertEqual(404, unknown.status_code)
            self.assertEqual(
                unknown.text.replace(NOTHING, group['id']), response.text
            )
        self.assertEqual(group, self.group(group['id']))

    def test_group_of_another_project_is_not_listed(self):
        group = self.two()

        for path in ('', '/detail'):
            mine = self.listed('demo', path)
            self.assertIn(group['id'], mine)
            self.assertNotIn(group['id'], self.listed('other', path))

    def listed(self, user, query=''):
        response = self.api(user).get(f'{base.GROUPS}{query}')
        self.assertEqual(200, response.status_code, response.text)
        return [each['id'] for each in response.json()['vrt_groups']]

    def test_only_an_admin_lists_all_projects(self):
        groups = {self.two(user)['id'] for user in ('demo', 'other')}

        response = self.api().get(f'{base.GROUPS}?all_projects=true')

        self.assertEqual(403, response.status_code, response.text)
        self.assertLessEqual(
            groups, set(self.listed('admin', '?all_projects=1'))
        )
        self.assertFalse(groups & set(self.listed('admin')))
        self.assertFalse(
            groups & set(self.listed('admin', '?all_projects=false'))
        )

    def test_lists_come_in_pages(self):
        groups = [self.two(hold=False)['id'] for _each in range(3)]
        seen, path = [], '?limit=2&status=PLANNED'
        while path:
            answer = self.api().get(f'{base.GROUPS}{path}').json()
            seen += [each['id'] for each in answer['vrt_groups']]
            self.assertLessEqual(len(answer['vrt_groups']), 2)
            links = answer.get('vrt_groups_links', [{'href': ''}])
            path = links[0]['href'].partition(base.GROUPS)[2]

        self.assertEqual(groups, [each for each in seen if each in groups])

    def test_lists_are_filtered(self):
        group = self.two(name='find me', hold=False)

        for query, found in (
            ('?name=find me', True),
            ('?name=find', False),
            ('?status=PLANNED', True),
            ('?status=HELD', False),
            ('/detail?name=find me&status=PLANNED', True),
            ('?limit=0', False),
        ):
            listed = self.listed('demo', query)
            self.assertEqual(found, group['id'] in listed, query)

    def test_bad_queries_are_refused(self):
        for query, reason in (
            ('?colour=red', 'query.colour: is unknown'),
            ('?status=held', 'query.status: must be one of'),
            ('?status=RELEASING', 'query.status: must be one of'),
            ('?all_projects=maybe', 'query.all_projects: must be one of'),
            ('?limit=-1', 'limit'),
            ('?limit=many', 'limit'),
            ('?marker=nothing', 'query.marker: '),
            ('?name=%ff', 'query: is not UTF-8'),
            ('/capabilities?name=a', 'query.name: is unknown'),
            (f'/{NOTHING}?name=a', None),
        ):
            response = self.api().get(f'{base.GROUPS}{query}')
            code = 400 if reason else 404
            self.assertEqual(code, response.status_code, response.text)
            self.assertIn(reason or '', response.text)

    def test_a_delete_with_an_unknown_parameter_deletes_nothing(self):
        group = self.two(hold=False)['id']

        response = self.api().delete(f'{base.GROUPS}/{group}?force=true')

        self.assertEqual(400, response.status_code, response.text)
        self.assertIn('query.force: is unknown', response.text)
        self.assertEqual(group, self.group(group)['id'])

    def test_groups_are_served_on_every_endpoint(self):
        group = self.two(hold=False)['id']
        project = accounts.by_name('demo').project_id
        session = self.cloud.session('demo')

        for version in ('v2', 'v2.1'):
            for prefix in ('', f'/{project}'):
                root = f'{self.cloud.url}/compute/{version}{prefix}'
                groups = session.get(f'{root}{base.GROUPS}').json()
                shown = session.get(f'{root}{base.GROUPS}/{group}').json()
                self.assertIn(
                    group, [each['id'] for each in groups['vrt_groups']]
                )
                self.assertEqual(group, shown['vrt_group']['id'])
                self.assertIn(prefix, shown['vrt_group']['links'][0]['href'])

    def test_largest_body_is_that_of_the_capabilities(self):
        path = f'{base.GROUPS}/capabilities'
        limits = self.api().get(path).json()['capabilities']['limits']

        for size, code in (
            (limits['max_body_size'], 400),
            (limits['max_body_size'] + 1, 413),
        ):
            answer = self.api().post(base.GROUPS, data=b'{'.ljust(size))
            self.assertEqual(code, answer.status_code, answer.text)

    def test_capabilities_name_scopes_policies_and_limits(self):
        shown = self.api().get(f'{base.GROUPS}/capabilities').json()

        capabilities = shown['capabilities']
        self.assertEqual(['host', 'rack', 'zone'], capabilities['scopes'])
        self.assertIn('survive', capabilities['policies'])
        self.assertEqual(1000, capabilities['limits']['max_members'])
