# SPDX-License-Identifier: Apache-2.0
"""Holistic group placement for OpenStack Nova.

Each step of a group's life has its own packages:

1. describe  api/                    store a group; members are tentative
2. look      scheduler/look/         read the cloud through Nova's filters
3. decide    scheduler/decide/,      decide once for all members
             solver/
4. hold      scheduler/protocol/     hold the plan in Placement; a revision:
                                     scheduler/decide/commit_revision.py
5. redeem    scheduler/redeem/       turn a hold into a server's allocation
6. follow    scheduler/follow/,      track servers that end, move or fail;
             move/, resize/, reap/   restrict where servers may move; finish
             adopt/, audit/          what others left; adopt; compare
7. release   scheduler/release/      free the capacity of ended holds
             objects/releases.py
"""
