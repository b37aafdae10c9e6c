# SPDX-License-Identifier: Apache-2.0
"""Scheduler hints of VRT groups, and hints of Nova that conflict with them."""

# Id of the group, and path of the member that the server becomes.
GROUP = 'vrt_group'
MEMBER = 'vrt_member'

# Nova's hints that restrict hosts: a member's host is planned by policies.
CONFLICTING = (
    'build_near_host_ip',
    'cidr',
    'different_cell',
    'different_host',
    'group',
    'query',
    'same_host',
    'target_cell',
)
