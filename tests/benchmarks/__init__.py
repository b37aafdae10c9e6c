# SPDX-License-Identifier: Apache-2.0
"""How fast, how large and how good, beside the way without us?"""
