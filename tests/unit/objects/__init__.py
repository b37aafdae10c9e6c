# SPDX-License-Identifier: Apache-2.0
"""Do the objects keep what they are told, and only lawful changes?"""
