# SPDX-License-Identifier: Apache-2.0
"""Is it true what the documentation tells?"""
