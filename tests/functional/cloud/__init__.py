# SPDX-License-Identifier: Apache-2.0
"""Is the try-out cloud a cloud?"""
