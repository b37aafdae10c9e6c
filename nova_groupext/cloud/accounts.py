# SPDX-License-Identifier: Apache-2.0
"""Who may use the try-out cloud, and the tokens that say who is asking.

Passwords and tokens come from one secret, which is kept with the cloud's
state: so a token stays good over a restart, and nobody else can guess it.
"""

import dataclasses
import hashlib
import hmac
import secrets
import uuid

# Of the one cloud of this process.
_secret = secrets.token_hex()


def keep_secret(file):
    """Use the secret that a file keeps; make it if it is missing."""
    global _secret
    file.touch(mode=0o600)
    # Empty also if its writer died.
    if not file.read_text():
        file.write_text(_secret)
    _secret = file.read_text()


def _derived(kind, name):
    text = f'{kind} of {name}'.encode()
    return hmac.new(_secret.encode(), text, hashlib.sha256).hexdigest()


def id_of(kind, name):
    """The id of a user, project or role: the same in every such cloud."""
    return uuid.uuid5(uuid.NAMESPACE_DNS, f'{name}.{kind}.tryout').hex


@dataclasses.dataclass(frozen=True)
class Account:
    """A user with its roles in its one project, or on the system."""

    name: str
    project: str
    roles: tuple[str, ...] = ('member', 'reader')
    system: bool = False

    @property
    def user_id(self):
        return id_of('user', self.name)

    @property
    def project_id(self):
        return id_of('project', self.project)

    @property
    def token(self):
        return _derived('token', self.name)

    @property
    def password(self):
        return _derived('password', self.name)


MANAGER_ROLES = ('manager', 'member', 'reader')
ADMIN = Account('admin', 'admin', ('admin', *MANAGER_ROLES))
NOVA = Account('nova', 'service', ('admin', 'service'))
#: The accounts that clouds.yaml names, each as ``vrt-<name>``.
TENANTS = (
    ADMIN,
    Account('demo', 'demo'),
    Account('other', 'other'),
    Account('demo-manager', 'demo', MANAGER_ROLES),
    Account('demo-reader', 'demo', ('reader',)),
)
ACCOUNTS = (*TENANTS, NOVA)


def by_name(name):
    """The account called ``name``, or whose user id it is; None if none."""
    found = (a for a in ACCOUNTS if name in (a.name, a.user_id))
    return next(found, None)


def by_token(token):
    """The account a token belongs to, or None."""
    given = (token or '').encode()
    found = (
        account
        for account in ACCOUNTS
        if hmac.compare_digest(account.token.encode(), given)
    )
    return next(found, None)
