# SPDX-License-Identifier: Apache-2.0
"""Does the Tempest plugin pass on the try-out cloud?"""
