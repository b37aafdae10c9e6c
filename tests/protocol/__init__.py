# SPDX-License-Identifier: Apache-2.0
"""Exploration of the interleavings of two operations on a group.

The operations are those of the product, in greenlets that stop before each
outermost transaction and each request to Placement. Only one of them runs at
a time, so a short list of choices describes a run and repeats it.
"""
