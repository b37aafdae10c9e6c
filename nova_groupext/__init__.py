# SPDX-License-Identifier: Apache-2.0
"""Holistic group placement for OpenStack Nova.

The seven steps and where they live:

1. describe  api, objects     a group with its members, stored as tentative
2. look      scheduler/snapshot.py
3. decide    planner
4. hold      scheduler/holds.py
5. redeem    scheduler/manager.py, scheduler/redeem.py
6. follow    scheduler/filters, scheduler/weights
7. release   scheduler/planning.py
"""
