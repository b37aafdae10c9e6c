# SPDX-License-Identifier: Apache-2.0
"""Rules for which member a server is: names and numbers, without capacity."""
