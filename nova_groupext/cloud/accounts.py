# SPDX-License-Identifier: Apache-2.0
"""Who may use the try-out cloud, and the tokens that say who is asking.

Tokens are names, not secrets: ``tryout-demo`` is demo's. The cloud listens
on the loopback only, and a token stays good over a restart.
"""

import dataclasses
import uuid

PASSWORD = 'tryout'  # noqa: S105 - stands in clouds.yaml for all to read
TOKEN_PREFIX = 'tryout-'  # noqa: S105 - a name, see above


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
        return TOKEN_PREFIX + self.name


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
    return next((a for a in ACCOUNTS if a.token == token), None)
