# SPDX-License-Identifier: Apache-2.0
"""The try-out cloud's doorkeepers: from a token to who is asking.

They stand where keystonemiddleware's ``authtoken`` stands in production.
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
    """A token is good for a project or for the system, never for both."""
    if account.system:
        return {'OpenStack-System-Scope': 'all'}
    return {
        'X-Project-Id': account.project_id,
        'X-Project-Name': account.project,
        'X-Project-Domain-Id': 'default',
    }


class IdentityHeaders:
    """Tell nova-api who is asking, in the headers Nova reads."""

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
        """Paste filter factory."""
        return cls


class PlacementToken:
    """Turn a token into the ``user:project`` that noauth2 believes."""

    def __init__(self, application):
        self.application = application

    @webob.dec.wsgify
    def __call__(self, request):
        # Placement's version document is for everybody.
        if request.path_info not in ('', '/'):
            account = _account(request)
            request.headers['X-Auth-Token'] = (
                f'{account.user_id}:{account.project_id}'
            )
            request.headers['X-Roles'] = ','.join(account.roles)
        return self.application
