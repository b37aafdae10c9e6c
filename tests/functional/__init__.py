# SPDX-License-Identifier: Apache-2.0
"""Does the loop work on a real Nova and Placement?"""
