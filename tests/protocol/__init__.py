# SPDX-License-Identifier: Apache-2.0
"""Every order in which two operations on a group can meet, one by one.

The operations are the product's own, on threads that stop at two *doors*:
each outermost transaction and each request to Placement. One thread at a time
is let through, so a run is told by a short list of choices, and repeats.
"""
