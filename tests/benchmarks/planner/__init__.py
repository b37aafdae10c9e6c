# SPDX-License-Identifier: Apache-2.0
"""How often, how fast and how well does the planner place groups?"""
