# SPDX-License-Identifier: Apache-2.0
"""Are the decisions right, whatever the problem?"""
