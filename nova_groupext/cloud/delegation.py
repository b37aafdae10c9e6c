# SPDX-License-Identifier: Apache-2.0
"""Calls of the identity API by which a Heat acts for its users.

Nothing is stored: each account has one trust, which lasts. The users that Heat
creates for the signals of a stack cannot log in: a stack's owner sends them.
"""

import json
import uuid

import webob
import webob.exc

from nova_groupext.cloud import accounts
from nova_groupext.cloud import stub_service

STACK_USER_ROLE = 'heat_stack_user'


class Delegation:
    """Methods of the stub service for trusts and for the users of stacks."""

    ROUTES = (
        ('POST', '/v3/OS-TRUST/trusts', 'create_trust'),
        ('DELETE', '/v3/OS-TRUST/trusts/[^/]+', 'forget'),
        ('GET', '/v3/roles', 'roles'),
        ('POST', '/v3/users', 'create_user'),
        ('DELETE', '/v3/users/[^/]+', 'forget'),
        ('PUT', '/v3/projects/[^/]+/users/[^/]+/roles/[^/]+', 'forget'),
        ('POST', '/v3/credentials', 'create_credential'),
        ('DELETE', '/v3/credentials/[^/]+', 'forget'),
    )

    def create_trust(self, request):
        """Show the trust by which Heat acts for the authenticated user."""
        account = authenticated(request)
        asked = _body(request, 'trust')
        if (
            asked.get('trustor_user_id') != account.user_id
            or asked.get('trustee_user_id') != accounts.HEAT.user_id
        ):
            raise webob.exc.HTTPForbidden()
        return stub_service.json_response({'trust': trust_of(account)}, 201)

    def roles(self, request):
        authenticated(request)
        role = {
            'id': accounts.id_of('role', STACK_USER_ROLE),
            'name': STACK_USER_ROLE,
        }
        return stub_service.json_response({'roles': [role]})

    def create_user(self, request):
        return self._create(request, 'user', ('name', 'default_project_id'))

    def create_credential(self, request):
        return self._create(request, 'credential', ('user_id', 'type', 'blob'))

    def _create(self, request, key, names):
        """Return some of the given attributes, and an id."""
        authenticated(request)
        asked = _body(request, key)
        created = {name: asked.get(name) for name in names}
        created['id'] = uuid.uuid4().hex
        return stub_service.json_response({key: created}, 201)

    def forget(self, request):
        authenticated(request)
        return webob.Response(status=204)


def trust_of(account):
    """Return the trust of an account, as the API shows it."""
    return {
        'id': account.trust_id,
        'impersonation': True,
        'project_id': account.project_id,
        'trustor_user': {'id': account.user_id},
        'trustor_user_id': account.user_id,
        'trustee_user': {'id': accounts.HEAT.user_id},
        'trustee_user_id': accounts.HEAT.user_id,
    }


def authenticated(
    request, header='X-Auth-Token', error=webob.exc.HTTPUnauthorized
):
    """Return the account of the token in a header.

    :param error: class of the exception that is raised without a valid one
    """
    account = accounts.by_token(request.headers.get(header))
    if account is None:
        raise error()
    return account


def _body(request, key):
    """Return what a request has under a key, a dictionary."""
    try:
        asked = request.json_body[key]
    except (json.JSONDecodeError, KeyError, TypeError):
        raise webob.exc.HTTPBadRequest() from None
    if not isinstance(asked, dict):
        raise webob.exc.HTTPBadRequest()
    return asked
