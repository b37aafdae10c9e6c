# SPDX-License-Identifier: Apache-2.0
"""Default policy rules of the VRT group API."""

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

COLLECTION = '/os-vrt-groups'
GROUP = '/os-vrt-groups/{group_id}'
ACTION = '/os-vrt-groups/{group_id}/action'
MEMBERS = '/os-vrt-groups/{group_id}/members'


def _rule(name, check, description, *operations):
    return policy.DocumentedRuleDefault(
        name=name,
        check_str=check,
        description=description,
        operations=[
            {'method': method, 'path': path} for method, path in operations
        ],
        scope_types=['project'],
    )


RULES = [
    _rule(
        CAPABILITIES,
        base.PROJECT_READER_OR_ADMIN,
        'Show the policy types, scopes and limits of VRT groups',
        ('GET', f'{COLLECTION}/capabilities'),
    ),
    _rule(
        INDEX,
        base.PROJECT_READER_OR_ADMIN,
        'List the VRT groups of a project',
        ('GET', COLLECTION),
    ),
    _rule(
        DETAIL,
        base.PROJECT_READER_OR_ADMIN,
        'List the VRT groups of a project with their details',
        ('GET', f'{COLLECTION}/detail'),
    ),
    _rule(
        ALL_PROJECTS,
        base.ADMIN,
        'List the VRT groups of all projects',
        ('GET', COLLECTION),
        ('GET', f'{COLLECTION}/detail'),
    ),
    _rule(
        SHOW,
        base.PROJECT_READER_OR_ADMIN,
        'Show a VRT group',
        ('GET', GROUP),
        ('GET', MEMBERS),
        ('GET', f'{MEMBERS}/{{path}}'),
    ),
    _rule(
        SHOW_PLACEMENT,
        base.ADMIN,
        'See the hosts of members, and the cost and statistics of a plan',
        ('GET', f'{COLLECTION}/detail'),
        ('GET', GROUP),
    ),
    _rule(
        CREATE,
        base.PROJECT_MEMBER_OR_ADMIN,
        'Describe a VRT group, to have it planned and held',
        ('POST', COLLECTION),
    ),
    _rule(
        WHAT_IF,
        base.PROJECT_MEMBER_OR_ADMIN,
        'Have a VRT group planned without holding it',
        ('POST', COLLECTION),
    ),
    _rule(
        EXCLUSIVE,
        base.ADMIN,
        'Use the policy type exclusive, which keeps others out of whole '
        'hosts, racks or zones',
        ('POST', COLLECTION),
        ('POST', f'{ACTION} (hold)'),
    ),
    _rule(
        UPDATE,
        base.PROJECT_MEMBER_OR_ADMIN,
        'Revise the definition of a VRT group, or add and remove members, and '
        'plan it again around what it has',
        ('PUT', GROUP),
        ('POST', MEMBERS),
        ('DELETE', f'{MEMBERS}/{{path}}'),
    ),
    _rule(
        DELETE,
        base.PROJECT_MEMBER_OR_ADMIN,
        'Release what is held of a VRT group and forget it',
        ('DELETE', GROUP),
    ),
    _rule(
        HOLD,
        base.PROJECT_MEMBER_OR_ADMIN,
        'Plan a VRT group again if need be, and hold it',
        ('POST', f'{ACTION} (hold)'),
    ),
    _rule(
        RELEASE,
        base.PROJECT_MEMBER_OR_ADMIN,
        'Give up members of a VRT group that are no servers yet',
        ('POST', f'{ACTION} (release)'),
    ),
    _rule(
        REPLAN,
        base.PROJECT_MEMBER_OR_ADMIN,
        'Decide again where the members of a VRT group are to be that are no '
        'servers',
        ('POST', f'{ACTION} (replan)'),
    ),
    _rule(
        EXTEND,
        base.PROJECT_MEMBER_OR_ADMIN,
        'Keep what is held of a VRT group for longer',
        ('POST', f'{ACTION} (extend)'),
    ),
    _rule(
        PROPOSAL,
        base.PROJECT_MEMBER_OR_ADMIN,
        'Ask which servers of a VRT group to move for its policies to hold',
        ('POST', f'{ACTION} (propose)'),
        ('GET', f'{GROUP}/proposal'),
    ),
    _rule(
        ADOPT,
        base.PROJECT_MEMBER_OR_ADMIN,
        'Let servers of the project that run already become members of a VRT '
        'group',
        ('POST', f'{ACTION} (adopt)'),
    ),
    # The caller owns the servers, so admins cannot boot groups of others.
    _rule(
        BOOT,
        base.PROJECT_MEMBER_OR_ADMIN,
        'Create the servers of what is held of a VRT group',
        ('POST', f'{ACTION} (boot)'),
    ),
]


def list_rules():
    return RULES
