# SPDX-License-Identifier: Apache-2.0
"""What do the real databases and Placement processes say?"""
