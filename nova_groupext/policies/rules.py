# SPDX-License-Identifier: Apache-2.0
"""Default policy rules of the VRT group API."""

import functools

from nova.policies import base
from oslo_policy import policy

ROOT = 'os_compute_api:os-vrt-groups:%s'

CAPABILITIES = ROOT % 'capabilities'
INDEX = ROOT % 'index'
DETAIL = ROOT % 'detail'
ALL_PROJECTS = ROOT % 'index:all_projects'
SHOW = ROOT % 'show'
SHOW_PLACEMENT = ROOT % 'show:placement'
CREATE = ROOT % 'create'
WHAT_IF = ROOT % 'create:what_if'
EXCLUSIVE = ROOT % 'create:exclusive'
UPDATE = ROOT % 'update'
DELETE = ROOT % 'delete'
HOLD = ROOT % 'hold'
RELEASE = ROOT % 'release'
REPLAN = ROOT % 'replan'
EXTEND = ROOT % 'extend'
PROPOSAL = ROOT % 'proposal'
BOOT = ROOT % 'boot'
ADOPT = ROOT % 'adopt'
SERVER_GROUP = ROOT % 'server_group'

COLLECTION = '/os-vrt-groups'
GROUP = '/os-vrt-groups/{group_id}'
ACTION = '/os-vrt-groups/{group_id}/action'
MEMBERS = '/os-vrt-groups/{group_id}/members'


def _rule(check, name, description, *operations):
    return policy.DocumentedRuleDefault(
        name=name,
        check_str=check,
        description=description,
        operations=[
            {'method': method, 'path': path} for method, path in operations
        ],
        scope_types=['project'],
    )


_admin_rule = functools.partial(_rule, base.ADMIN)
_member_rule = functools.partial(_rule, base.PROJECT_MEMBER_OR_ADMIN)
_reader_rule = functools.partial(_rule, base.PROJECT_READER_OR_ADMIN)

RULES = [
    _reader_rule(
        CAPABILITIES,
        'Show the policy types, scopes and limits of VRT groups',
        ('GET', f'{COLLECTION}/capabilities'),
    ),
    _reader_rule(
        INDEX,
        'List the VRT groups of a project',
        ('GET', COLLECTION),
    ),
    _reader_rule(
        DETAIL,
        'List the VRT groups of a project with their details',
        ('GET', f'{COLLECTION}/detail'),
    ),
    _admin_rule(
        ALL_PROJECTS,
        'List the VRT groups of all projects',
        ('GET', COLLECTION),
        ('GET', f'{COLLECTION}/detail'),
    ),
    _reader_rule(
        SHOW,
        'Show a VRT group',
        ('GET', GROUP),
        ('GET', MEMBERS),
        ('GET', f'{MEMBERS}/{{path}}'),
    ),
    _admin_rule(
        SHOW_PLACEMENT,
        'Show the hosts of members, and the cost and statistics of a plan',
        ('GET', f'{COLLECTION}/detail'),
        ('GET', GROUP),
        ('GET', MEMBERS),
        ('GET', f'{MEMBERS}/{{path}}'),
        ('GET', f'{GROUP}/proposal'),
        ('POST', COLLECTION),
        ('PUT', GROUP),
    ),
    _member_rule(
        CREATE,
        'Create a VRT group, which is planned and held',
        ('POST', COLLECTION),
    ),
    _member_rule(
        WHAT_IF,
        'Plan a VRT group without holding it',
        ('POST', COLLECTION),
    ),
    _admin_rule(
        EXCLUSIVE,
        'Use the policy type exclusive, which reserves whole hosts, racks or '
        'zones for one group',
        ('POST', COLLECTION),
        ('PUT', GROUP),
        ('POST', MEMBERS),
        ('DELETE', f'{MEMBERS}/{{path}}'),
        ('POST', f'{ACTION} (hold)'),
        ('POST', f'{ACTION} (replan)'),
    ),
    _member_rule(
        UPDATE,
        'Revise the definition of a VRT group, or add and remove members, '
        'and plan it again around its servers',
        ('PUT', GROUP),
        ('POST', MEMBERS),
        ('DELETE', f'{MEMBERS}/{{path}}'),
    ),
    _member_rule(
        DELETE,
        'Delete a VRT group and release its holds',
        ('DELETE', GROUP),
    ),
    _member_rule(
        HOLD,
        'Hold a VRT group without holds, planning it again if needed',
        ('POST', f'{ACTION} (hold)'),
    ),
    _member_rule(
        RELEASE,
        'Release members of a VRT group that have no servers',
        ('POST', f'{ACTION} (release)'),
    ),
    _member_rule(
        REPLAN,
        'Plan the members of a VRT group that have no servers again',
        ('POST', f'{ACTION} (replan)'),
    ),
    _member_rule(
        EXTEND,
        'Extend the holds of a VRT group, or change its expires_in; a '
        'revision without expires_in extends them by the present one',
        ('POST', f'{ACTION} (extend)'),
        ('PUT', f'{GROUP} (expires_in)'),
    ),
    _member_rule(
        PROPOSAL,
        'Request a proposal of server moves that restore the policies of a '
        'VRT group',
        ('POST', f'{ACTION} (propose)'),
        ('GET', f'{GROUP}/proposal'),
    ),
    _member_rule(
        ADOPT,
        'Turn existing servers of the project into members of a VRT group',
        ('POST', f'{ACTION} (adopt)'),
    ),
    _member_rule(
        SERVER_GROUP,
        'Use a VRT group or a subgroup where Nova takes a server group: the '
        'scheduler hint group, and showing a server group',
        ('POST', '/servers'),
        ('GET', '/os-server-groups/{server_group_id}'),
    ),
    # The caller owns the servers, so admins cannot boot groups of others.
    _member_rule(
        BOOT,
        'Create the servers of the held members of a VRT group',
        ('POST', f'{ACTION} (boot)'),
        ('POST', f'{COLLECTION} (boot)'),
    ),
]
