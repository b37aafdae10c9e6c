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


class Identity(stub_service.LookAlike):
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

    def refusal(self, exc):
        """Return an error in Keystone's format, the only one clients read."""
        error = {
            'code': exc.code,
            'title': exc.title,
            'message': MESSAGES.get(exc.code, exc.explanation),
        }
        return stub_service.answer({'error': error}, exc.code)

    def _version(self):
        return stub_service.version('v3.14', f'{self.url}/v3/')

    def versions(self, request):
        return stub_service.answer(
            {'versions': {'values': [self._version()]}}, 300
        )

    def version(self, request):
        return stub_service.answer({'version': self._version()})

    def issue(self, request):
        """Issue a token of the user's only project for a password."""
        try:
            asked = request.json_body['auth']
            given = asked['identity']['password']['user']
            account = accounts.by_name(given.get('name') or given['id'])
            project = _project_asked(asked)
            password = f'{given["password"]}'.encode()
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
        _known(request, 'X-Auth-Token', webob.exc.HTTPUnauthorized)
        return self._token(
            _known(request, 'X-Subject-Token', webob.exc.HTTPNotFound), 200
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
            'issued_at': _instant(now),
            'expires_at': _instant(now + LIFETIME),
        }
        return stub_service.answer(
            {'token': token}, status, X_Subject_Token=account.token
        )

    def projects(self, request):
        return _listed(request, 'projects', _project)

    def project(self, request, project_id):
        return _shown(request, 'project', _project, project_id)

    def users(self, request):
        return _listed(request, 'users', _user)

    def user(self, request, user_id):
        return _shown(request, 'user', _user, user_id)


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


def _project_asked(asked):
    project = asked.get('scope', {}).get('project', {})
    return project.get('name') or project.get('id')


def _known(request, header, error):
    account = accounts.by_token(request.headers.get(header))
    if account is None:
        raise error()
    return account


def _instant(when):
    return when.strftime('%Y-%m-%dT%H:%M:%S.%fZ')


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


def _listed(request, key, view):
    _known(request, 'X-Auth-Token', webob.exc.HTTPUnauthorized)
    # Several accounts may share a project: keep one item for each id.
    found = {item['id']: item for item in map(view, accounts.ACCOUNTS)}
    found = list(found.values())
    name = request.params.get('name')
    if name is not None:
        found = [item for item in found if item['name'] == name]
    return stub_service.answer({key: found, 'links': {'next': None}})


def _shown(request, key, view, wanted):
    _known(request, 'X-Auth-Token', webob.exc.HTTPUnauthorized)
    for account in accounts.ACCOUNTS:
        if view(account)['id'] == wanted:
            return stub_service.answer({key: view(account)})
    raise webob.exc.HTTPNotFound()
