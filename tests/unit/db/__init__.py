# SPDX-License-Identifier: Apache-2.0
"""Are tables and migrations one and the same?"""
