# SPDX-License-Identifier: Apache-2.0
"""Stub services of the try-out cloud."""

from oslotest import base
import webob

from nova_groupext.cloud import accounts
from nova_groupext.cloud import identity
from nova_groupext.cloud import image
from nova_groupext.cloud import network
from nova_groupext.cloud import tokens

URL = 'http://127.0.0.1:1'


def ask(application, path, **kwargs):
    return webob.Request.blank(path, **kwargs).get_response(application)


class TestIdentity(base.BaseTestCase):
    def setUp(self):
        super().setUp()
        self.identity = identity.Identity(URL)

    def issue(self, name='demo', password=None, project='demo'):
        if password is None:
            password = accounts._derive('password', name)
        user = {'name': name, 'password': password}
        asked = {
            'identity': {'methods': ['password'], 'password': {'user': user}},
            'scope': {'project': {'name': project}},
        }
        return ask(
            self.identity,
            '/v3/auth/tokens',
            method='POST',
            json={'auth': asked},
        )

    def test_token_is_for_the_users_project(self):
        answer = self.issue()

        self.assertEqual(201, answer.status_code)
        account = accounts.by_token(answer.headers['X-Subject-Token'])
        self.assertEqual('demo', account.name)
        self.assertEqual(
            account.project_id, answer.json['token']['project']['id']
        )

    def test_catalogue_names_every_api(self):
        catalogue = self.issue().json['token']['catalog']

        types = {service['type'] for service in catalogue}
        expected = {'identity', 'compute', 'placement', 'image', 'network'}
        self.assertEqual(expected, types)

    def test_wrong_password_is_unauthorized(self):
        self.assertEqual(401, self.issue(password='no').status_code)

    def test_errors_have_the_form_of_keystones_errors(self):
        error = self.issue(password='no').json['error']

        self.assertEqual(
            (401, 'Unauthorized'), (error['code'], error['title'])
        )
        self.assertIn('requires authentication', error['message'])
        missing = ask(self.identity, '/v3/regions').json['error']
        self.assertEqual(
            (404, 'Not Found'), (missing['code'], missing['title'])
        )

    def test_unknown_user_is_unauthorized(self):
        self.assertEqual(401, self.issue(name='nobody').status_code)

    def test_project_of_another_user_is_unauthorized(self):
        self.assertEqual(401, self.issue(project='other').status_code)

    def test_malformed_body_is_a_bad_request(self):
        answer = ask(
            self.identity, '/v3/auth/tokens', method='POST', json={'auth': 1}
        )

        self.assertEqual(400, answer.status_code)

    def test_token_validation_returns_its_user(self):
        headers = {
            'X-Auth-Token': accounts.ADMIN.token,
            'X-Subject-Token': accounts.by_name('other').token,
        }

        answer = ask(self.identity, '/v3/auth/tokens', headers=headers)

        self.assertEqual('other', answer.json['token']['user']['name'])

    def test_project_is_found_by_name(self):
        headers = {'X-Auth-Token': accounts.ADMIN.token}

        answer = ask(self.identity, '/v3/projects?name=other', headers=headers)

        [project] = answer.json['projects']
        self.assertEqual(accounts.by_name('other').project_id, project['id'])

    def test_project_of_several_users_is_listed_once(self):
        headers = {'X-Auth-Token': accounts.ADMIN.token}

        answer = ask(self.identity, '/v3/projects?name=demo', headers=headers)

        [project] = answer.json['projects']
        self.assertEqual(accounts.by_name('demo').project_id, project['id'])

    def test_token_of_a_reader_has_the_reader_role_only(self):
        token = self.issue('demo-reader').json['token']

        self.assertEqual(['reader'], [role['name'] for role in token['roles']])
        self.assertEqual('demo', token['project']['name'])

    def test_second_user_is_of_the_same_project(self):
        demo = self.issue().json['token']
        manager = self.issue('demo-manager').json['token']

        self.assertEqual(demo['project'], manager['project'])
        self.assertNotEqual(demo['user'], manager['user'])
        names = {role['name'] for role in manager['roles']}
        self.assertEqual({'manager', 'member', 'reader'}, names)

    def test_list_of_projects_needs_a_token(self):
        answer = ask(self.identity, '/v3/projects')

        self.assertEqual(401, answer.status_code)


class TestImages(base.BaseTestCase):
    def setUp(self):
        super().setUp()
        self.images = image.Images(URL)

    def test_list_has_all_images(self):
        listed = ask(self.images, '/v2/images').json['images']

        names = [each['name'] for each in listed]
        self.assertEqual([*image.IMAGES], names)

    def test_list_ends_after_a_marker(self):
        marker = image.image_id('cirros-vmx')

        answer = ask(self.images, f'/v2/images?marker={marker}')

        self.assertEqual([], answer.json['images'])

    def test_show_returns_the_image(self):
        shown = ask(self.images, f'/v2/images/{image.image_id("cirros")}')

        self.assertEqual('cirros', shown.json['name'])

    def test_unknown_image_is_not_found(self):
        answer = ask(self.images, '/v2/images/cirros')

        self.assertEqual(404, answer.status_code)


class TestNetworks(base.BaseTestCase):
    def setUp(self):
        super().setUp()
        self.networks = network.Networks(URL)

    def test_empty_list_has_the_key_that_clients_expect(self):
        answer = ask(self.networks, '/v2.0/security-groups?fields=id')

        self.assertEqual([], answer.json['security_groups'])

    def test_single_network_resource_is_not_found(self):
        for path, kind in (
            ('ports/x', 'PortNotFound'),
            ('networks/x', 'NetworkNotFound'),
            ('security-groups/x', 'SecurityGroupNotFound'),
        ):
            answer = ask(self.networks, f'/v2.0/{path}')

            self.assertEqual(404, answer.status_code)
            self.assertEqual(kind, answer.json['NeutronError']['type'])

    def create_port(self, **values):
        answer = ask(
            self.networks, '/v2.0/ports', method='POST', json={'port': values}
        )
        return answer.json['port']

    def test_ports_have_addresses_of_their_own(self):
        addresses = {
            self.create_port()['fixed_ips'][0]['ip_address']
            for _number in range(3)
        }

        self.assertEqual({'10.0.0.2', '10.0.0.3', '10.0.0.4'}, addresses)

    def test_ports_are_listed_by_their_device(self):
        port = self.create_port(device_id='server')
        self.create_port(device_id='other')

        found = ask(self.networks, '/v2.0/ports?device_id=server')

        self.assertEqual([port], found.json['ports'])

    def test_ports_of_other_projects_are_not_found(self):
        port = self.create_port()
        token = accounts.by_name('demo').token

        for path in ('/v2.0/ports', f'/v2.0/ports/{port["id"]}'):
            seen = ask(self.networks, path, headers={'X-Auth-Token': token})
            self.assertNotIn(port['id'], seen.json.get('ports', ()))
        self.assertEqual(404, seen.status_code)

    def test_deleted_port_is_not_found(self):
        path = f'/v2.0/ports/{self.create_port()["id"]}'
        deleted = ask(self.networks, path, method='DELETE')
        self.assertEqual(204, deleted.status_code)

        for method in ('GET', 'DELETE'):
            answer = ask(self.networks, path, method=method)
            self.assertEqual(404, answer.status_code)
            self.assertEqual(
                'PortNotFound', answer.json['NeutronError']['type']
            )


class TestDelegation(base.BaseTestCase):
    """Calls of a Heat beside the cloud."""

    def setUp(self):
        super().setUp()
        self.identity = identity.Identity(URL)
        self.demo = accounts.by_name('demo')

    def post(self, path, body, user='demo'):
        headers = {'X-Auth-Token': accounts.by_name(user).token}
        return ask(
            self.identity, path, method='POST', json=body, headers=headers
        )

    def give_trust(self, trustor='demo', trustee='heat'):
        trust = {
            'trustor_user_id': accounts.by_name(trustor).user_id,
            'trustee_user_id': accounts.by_name(trustee).user_id,
        }
        return self.post('/v3/OS-TRUST/trusts', {'trust': trust})

    def issue(self, trust_id, user='heat'):
        password = accounts.by_name(user).password
        identity_ = {
            'methods': ['password'],
            'password': {'user': {'name': user, 'password': password}},
        }
        scope = {'OS-TRUST:trust': {'id': trust_id}}
        auth = {'identity': identity_, 'scope': scope}
        return ask(
            self.identity,
            '/v3/auth/tokens',
            method='POST',
            json={'auth': auth},
        )

    def test_token_of_a_trust_is_for_the_user_who_gave_it(self):
        trust = self.give_trust().json['trust']

        answer = self.issue(trust['id'])

        self.assertEqual(201, answer.status_code)
        token = answer.json['token']
        self.assertEqual(self.demo.user_id, token['user']['id'])
        self.assertEqual(trust['id'], token['OS-TRUST:trust']['id'])
        account = accounts.by_token(answer.headers['X-Subject-Token'])
        self.assertEqual(self.demo, account)

    def test_nobody_gives_the_trust_of_others(self):
        self.assertEqual(403, self.give_trust(trustor='other').status_code)

    def test_only_heat_is_trusted(self):
        self.assertEqual(403, self.give_trust(trustee='other').status_code)
        trust = self.give_trust().json['trust']
        self.assertEqual(403, self.issue(trust['id'], 'other').status_code)

    def test_unknown_trust_is_forbidden(self):
        self.assertEqual(403, self.issue('no').status_code)

    def test_service_beside_the_cloud_is_in_the_catalogue(self):
        self.identity.add_service('orchestration', f'{URL}/$(project_id)s')
        trust = self.give_trust().json['trust']

        catalogue = self.issue(trust['id']).json['token']['catalog']

        [found] = [e for e in catalogue if e['type'] == 'orchestration']
        self.assertEqual(
            f'{URL}/{self.demo.project_id}', found['endpoints'][0]['url']
        )

    def test_malformed_body_is_a_bad_request(self):
        for body in ([], {}, {'trust': 1}):
            answer = self.post('/v3/OS-TRUST/trusts', body)
            self.assertEqual(400, answer.status_code, body)


class TestTokenFilters(base.BaseTestCase):
    def seen(self, token_filter, path='/servers', **headers):
        """Return the headers that reach the application behind a filter."""

        @webob.dec.wsgify
        def application(request):
            return webob.Response(json_body=dict(request.headers))

        return ask(token_filter(application), path, headers=headers)

    def test_identity_headers_replace_those_of_the_client(self):
        demo = accounts.by_name('demo')

        answer = self.seen(
            tokens.IdentityHeaders,
            **{'X-Auth-Token': demo.token, 'X-Roles': 'admin'},
        )

        self.assertEqual('member,reader', answer.json['X-Roles'])
        self.assertEqual(demo.project_id, answer.json['X-Project-Id'])

    def test_unknown_token_is_unauthorized(self):
        for token_filter in (tokens.IdentityHeaders, tokens.PlacementToken):
            answer = self.seen(token_filter, **{'X-Auth-Token': 'no'})

            self.assertEqual(401, answer.status_code)

    def test_placement_token_has_user_and_project(self):
        admin = accounts.ADMIN

        answer = self.seen(
            tokens.PlacementToken, **{'X-Auth-Token': admin.token}
        )

        user, _sep, project = answer.json['X-Auth-Token'].partition(':')
        self.assertEqual((admin.user_id, admin.project_id), (user, project))

    def test_placement_root_needs_no_token(self):
        answer = self.seen(tokens.PlacementToken, path='/')

        self.assertEqual(200, answer.status_code)
