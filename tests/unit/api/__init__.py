# SPDX-License-Identifier: Apache-2.0
"""Does the API read, show and refuse as it says?"""
