# SPDX-License-Identifier: Apache-2.0
"""How do looks, holds, redeems and the reaper grow with the cloud?"""
