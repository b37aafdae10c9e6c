# SPDX-License-Identifier: Apache-2.0
"""Stub of the identity service: v3 password tokens and a service catalogue.

The users are those of :mod:`nova_groupext.cloud.accounts`, in one domain.
What a Heat beside the cloud needs is in :mod:`nova_groupext.cloud.delegation`.
"""

import datetime
import hmac

import webob.exc

from nova_groupext.cloud import accounts
from nova_groupext.cloud import delegation
from nova_groupext.cloud import stub_service

REGION = 'RegionOne'
DOMAIN = {'id': 'default', 'name': 'Default'}
LIFETIME = datetime.timedelta(days=1)
# Service type, and path below the URL of the cloud.
CATALOGUE = (
    ('identity', '/identity'),
    ('compute', '/compute/v2.1'),
    ('placement', '/placement'),
    ('image', '/image'),
    ('network', '/network'),
)
_PROJECT = '$(project_id)s'
# Keystone's message for a wrong password or an unknown user.
MESSAGES = {401: 'The request you have made requires authentication.'}


class Identity(delegation.Delegation, stub_service.StubService):
    """Stub of the identity API at ``<cloud>/identity``."""

    ROUTES = (
        ('GET', '', 'versions'),
        ('GET', '/v3', 'version'),
        ('POST', '/v3/auth/tokens', 'issue'),
        ('GET', '/v3/auth/tokens', 'validate'),
        ('GET', '/v3/projects', 'projects'),
        ('GET', '/v3/projects/(?P<project_id>[^/]+)', 'project'),
        ('GET', '/v3/users', 'users'),
        ('GET', '/v3/users/(?P<user_id>[^/]+)', 'user'),
        *delegation.Delegation.ROUTES,
    )

    def __init__(self, url):
        """Answer requests below ``url``, the URL of the cloud."""
        super().__init__(f'{url}/identity')
        self._endpoints = {kind: url + path for kind, path in CATALOGUE}

    def add_service(self, kind, url):
        """Add a service to the catalogue of later tokens.

        :param url: may contain ``$(project_id)s``
        """
        self._endpoints[kind] = url

    def error_response(self, exc):
        """Return an error in Keystone's format, the only one clients read."""
        error = {
            'code': exc.code,
            'title': exc.title,
            'message': MESSAGES.get(exc.code, exc.explanation),
        }
        return stub_service.json_response({'error': error}, exc.code)

    def _version(self):
        return stub_service.version('v3.14', f'{self.url}/v3/')

    def versions(self, request):
        return stub_service.json_response(
            {'versions': {'values': [self._version()]}}, 300
        )

    def version(self, request):
        return stub_service.json_response({'version': self._version()})

    def issue(self, request):
        """Issue a token of the user's only project for a password.

        In the scope of a trust, it is a token of the user who gave that.
        """
        try:
            auth = request.json_body['auth']
            user = auth['identity']['password']['user']
            account = accounts.by_name(user.get('name') or user['id'])
            project = _requested_project(auth)
            trust_id = _requested_trust(auth)
            password = f'{user["password"]}'.encode()
        except (ValueError, KeyError, TypeError, AttributeError):
            raise webob.exc.HTTPBadRequest() from None
        if (
            account is None
            or not hmac.compare_digest(account.password.encode(), password)
            or project not in (None, account.project, account.project_id)
        ):
            raise webob.exc.HTTPUnauthorized()
        if trust_id is None:
            return self._token(account, 201)
        trustor = accounts.by_trust(trust_id)
        if trustor is None or account != accounts.HEAT:
            raise webob.exc.HTTPForbidden()
        return self._token(trustor, 201, is_of_trust=True)

    def validate(self, request):
        """Show the token of X-Subject-Token to any authenticated user."""
        delegation.authenticated(request)
        account = delegation.authenticated(
            request, 'X-Subject-Token', webob.exc.HTTPNotFound
        )
        is_of_trust = accounts.is_of_trust(request.headers['X-Subject-Token'])
        return self._token(account, 200, is_of_trust=is_of_trust)

    def _token(self, account, status, *, is_of_trust=False):
        now = datetime.datetime.now(datetime.UTC)
        token = {
            'methods': ['password'],
            'user': _user(account),
            'project': _project(account),
            'roles': [
                {'id': accounts.id_of('role', role), 'name': role}
                for role in account.roles
            ],
            'catalog': [
                _service(kind, url.replace(_PROJECT, account.project_id))
                for kind, url in self._endpoints.items()
            ],
            'issued_at': _format_time(now),
            'expires_at': _format_time(now + LIFETIME),
        }
        if is_of_trust:
            token['OS-TRUST:trust'] = delegation.trust_of(account)
        return stub_service.json_response(
            {'token': token},
            status,
            X_Subject_Token=(
                account.trust_token if is_of_trust else account.token
            ),
        )

    def projects(self, request):
        return _list_response(request, 'projects', _project)

    def project(self, request, project_id):
        return _show_response(request, 'project', _project, project_id)

    def users(self, request):
        return _list_response(request, 'users', _user)

    def user(self, request, user_id):
        return _show_response(request, 'user', _user, user_id)


def _service(kind, url):
    endpoints = [
        {
            'id': accounts.id_of(interface, kind),
            'interface': interface,
            'region': REGION,
            'region_id': REGION,
            'url': url,
        }
        for interface in ('public', 'internal', 'admin')
    ]
    return {
        'id': accounts.id_of('service', kind),
        'name': kind,
        'type': kind,
        'endpoints': endpoints,
    }


def _requested_project(auth):
    project = auth.get('scope', {}).get('project', {})
    return project.get('name') or project.get('id')


def _requested_trust(auth):
    return auth.get('scope', {}).get('OS-TRUST:trust', {}).get('id')


def _format_time(time):
    return time.strftime('%Y-%m-%dT%H:%M:%S.%fZ')


def _user(account):
    return {
        'id': account.user_id,
        'name': account.name,
        'domain': DOMAIN,
        'domain_id': DOMAIN['id'],
        'enabled': True,
    }


def _project(account):
    return {
        'id': account.project_id,
        'name': account.project,
        'domain': DOMAIN,
        'domain_id': DOMAIN['id'],
        'enabled': True,
    }


def _list_response(request, key, view):
    delegation.authenticated(request)
    # Several accounts may share a project: keep one item for each id.
    items = {item['id']: item for item in map(view, accounts.ACCOUNTS)}
    items = list(items.values())
    name = request.params.get('name')
    if name is not None:
        items = [item for item in items if item['name'] == name]
    return stub_service.json_response({key: items, 'links': {'next': None}})


def _show_response(request, key, view, wanted_id):
    delegation.authenticated(request)
    for account in accounts.ACCOUNTS:
        if view(account)['id'] == wanted_id:
            return stub_service.json_response({key: view(account)})
    raise webob.exc.HTTPNotFound()
