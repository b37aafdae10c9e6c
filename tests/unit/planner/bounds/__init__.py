# SPDX-License-Identifier: Apache-2.0
"""Do quick comparisons prove what they can, and nothing else?"""
