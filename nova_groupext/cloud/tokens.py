# SPDX-License-Identifier: Apache-2.0
"""Token filters of the try-out cloud: WSGI filters that identify the user.

They replace keystonemiddleware's ``authtoken``.
"""

import webob.dec
import webob.exc

from nova_groupext.cloud import accounts


def _account(request):
    account = accounts.by_token(request.headers.get('X-Auth-Token'))
    if account is None:
        raise webob.exc.HTTPUnauthorized()
    return account


def _scope(account):
    """Return the headers of a token's scope: the project or the system."""
    if account.system:
        return {'OpenStack-System-Scope': 'all'}
    return {
        'X-Project-Id': account.project_id,
        'X-Project-Name': account.project,
        'X-Project-Domain-Id': 'default',
    }


class IdentityHeaders:
    """Filter of nova-api that turns a token into the headers Nova reads."""

    def __init__(self, application):
        self.application = application

    @webob.dec.wsgify
    def __call__(self, request):
        account = _account(request)
        request.headers.update(
            {
                'X-Identity-Status': 'Confirmed',
                'X-User-Id': account.user_id,
                'X-User-Name': account.name,
                'X-User-Domain-Id': 'default',
                'X-Roles': ','.join(account.roles),
                **_scope(account),
            }
        )
        return self.application

    @classmethod
    def factory(cls, global_conf, **local_conf):
        """Return the class; this is a paste filter factory."""
        return cls


class PlacementToken:
    """Filter of Placement that sets the ``user:project`` of noauth2."""

    def __init__(self, application):
        self.application = application

    @webob.dec.wsgify
    def __call__(self, request):
        # Placement's version document needs no token.
        if request.path_info not in ('', '/'):
            account = _account(request)
            request.headers['X-Auth-Token'] = (
                f'{account.user_id}:{account.project_id}'
            )
            request.headers['X-Roles'] = ','.join(account.roles)
        return self.application
