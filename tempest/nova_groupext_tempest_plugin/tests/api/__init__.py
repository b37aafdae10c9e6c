# SPDX-License-Identifier: Apache-2.0
"""Answers of each route to good, bad and foreign requests."""
