# SPDX-License-Identifier: Apache-2.0
"""Stub of the identity service: v3 password tokens and a service catalogue.

The users are those of :mod:`nova_groupext.cloud.accounts`, in one domain.
"""

import datetime
import hmac

import webob.exc

from nova_groupext.cloud import accounts
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
# Keystone's message for a wrong password or an unknown user.
MESSAGES = {401: 'The request you have made requires authentication.'}


class Identity(stub_service.StubService):
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
    )

    def __init__(self, url):
        """Answer requests below ``url``, the URL of the cloud."""
        super().__init__(f'{url}/identity')
        self.catalogue = [
            _service(kind, url + path) for kind, path in CATALOGUE
        ]

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
        """Issue a token of the user's only project for a password."""
        try:
            auth = request.json_body['auth']
            user = auth['identity']['password']['user']
            account = accounts.by_name(user.get('name') or user['id'])
            project = _requested_project(auth)
            password = f'{user["password"]}'.encode()
        except (ValueError, KeyError, TypeError, AttributeError):
            raise webob.exc.HTTPBadRequest() from None
        if (
            account is None
            or not hmac.compare_digest(account.password.encode(), password)
            or project not in (None, account.project, account.project_id)
        ):
            raise webob.exc.HTTPUnauthorized()
        return self._token(account, 201)

    def validate(self, request):
        """Show the token of X-Subject-Token to any authenticated user."""
        _authenticated(request, 'X-Auth-Token', webob.exc.HTTPUnauthorized)
        return self._token(
            _authenticated(request, 'X-Subject-Token', webob.exc.HTTPNotFound),
            200,
        )

    def _token(self, account, status):
        now = datetime.datetime.now(datetime.UTC)
        token = {
            'methods': ['password'],
            'user': _user(account),
            'project': _project(account),
            'roles': [
                {'id': accounts.id_of('role', role), 'name': role}
                for role in account.roles
            ],
            'catalog': self.catalogue,
            'issued_at': _format_time(now),
            'expires_at': _format_time(now + LIFETIME),
        }
        return stub_service.json_response(
            {'token': token}, status, X_Subject_Token=account.token
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


def _authenticated(request, header, error):
    account = accounts.by_token(request.headers.get(header))
    if account is None:
        raise error()
    return account


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
    _authenticated(request, 'X-Auth-Token', webob.exc.HTTPUnauthorized)
    # Several accounts may share a project: keep one item for each id.
    items = {item['id']: item for item in map(view, accounts.ACCOUNTS)}
    items = list(items.values())
    name = request.params.get('name')
    if name is not None:
        items = [item for item in items if item['name'] == name]
    return stub_service.json_response({key: items, 'links': {'next': None}})


def _show_response(request, key, view, wanted_id):
    _authenticated(request, 'X-Auth-Token', webob.exc.HTTPUnauthorized)
    for account in accounts.ACCOUNTS:
        if view(account)['id'] == wanted_id:
            return stub_service.json_response({key: view(account)})
    raise webob.exc.HTTPNotFound()
