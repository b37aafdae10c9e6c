# SPDX-License-Identifier: Apache-2.0
"""Accounts of the try-out cloud, with their passwords and tokens.

Passwords and tokens are derived from one secret, which is stored in the
cloud's state directory: tokens stay valid over a restart and are unguessable.
"""

import dataclasses
import hashlib
import hmac
import secrets
import uuid

# Secret of the only cloud of this process.
_secret = secrets.token_hex()


def load_secret(file):
    """Use the secret in a file; write a new one if there is none."""
    global _secret
    file.touch(mode=0o600)
    # The file is also empty if its writer was killed.
    if not file.read_text():
        file.write_text(_secret)
    _secret = file.read_text()


def _derive(kind, name):
    text = f'{kind} of {name}'.encode()
    return hmac.new(_secret.encode(), text, hashlib.sha256).hexdigest()


def uuid_of(kind, name):
    """Return id_of() as a uuid with dashes."""
    return str(uuid.UUID(id_of(kind, name)))


def id_of(kind, name):
    """Return the id of a user, project or role, equal in every cloud."""
    return uuid.uuid5(uuid.NAMESPACE_DNS, f'{name}.{kind}.tryout').hex


@dataclasses.dataclass(frozen=True)
class Account:
    """A user with roles in one project or, if ``system``, on the system."""

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
        return _derive('token', self.name)

    @property
    def trust_id(self):
        """Id of the trust by which other services act for the account."""
        return _derive('trust', self.name)[:32]

    @property
    def trust_token(self):
        return _derive('trust token', self.name)

    @property
    def password(self):
        return _derive('password', self.name)


MANAGER_ROLES = ('manager', 'member', 'reader')
ADMIN = Account('admin', 'admin', ('admin', *MANAGER_ROLES))
NOVA = Account('nova', 'service', ('admin', 'service'))
#: Heat's account, in case a Heat is started beside the cloud.
HEAT = Account('heat', 'service', ('admin', 'service'))
#: Accounts that clouds.yaml lists, each as ``vrt-<name>``.
TENANTS = (
    ADMIN,
    Account('demo', 'demo'),
    Account('other', 'other'),
    Account('demo-manager', 'demo', MANAGER_ROLES),
    Account('demo-reader', 'demo', ('reader',)),
)
ACCOUNTS = (*TENANTS, NOVA, HEAT)


def by_name(name):
    """Return the account with this name or user id, or None."""
    matching = (a for a in ACCOUNTS if name in (a.name, a.user_id))
    return next(matching, None)


def by_token(token):
    """Return the account that a token is for, or None.

    A token of a trust is for the account that gave the trust.
    """
    matching = (
        account
        for account in ACCOUNTS
        if _is(token, account.token) or _is(token, account.trust_token)
    )
    return next(matching, None)


def by_trust(trust_id):
    """Return the account that gave a trust, or None."""
    matching = (a for a in ACCOUNTS if _is(trust_id, a.trust_id))
    return next(matching, None)


def is_of_trust(token):
    """Check whether a token is that of a trust."""
    return any(_is(token, account.trust_token) for account in ACCOUNTS)


def _is(text, secret):
    return hmac.compare_digest((text or '').encode(), secret.encode())
