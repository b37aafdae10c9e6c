# SPDX-License-Identifier: Apache-2.0
"""Scheduler hints: ours, and those of Nova that ours exclude."""

# Which member of which group a server is.
GROUP = 'vrt_group'
MEMBER = 'vrt_member'

# Nova's own would have a say in where the server goes; a policy says it.
PLACING = (
    'build_near_host_ip',
    'cidr',
    'different_cell',
    'different_host',
    'group',
    'query',
    'same_host',
    'target_cell',
)
