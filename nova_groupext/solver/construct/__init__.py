# SPDX-License-Identifier: Apache-2.0
"""Randomised greedy construction of plans, in milliseconds.

::

    squeaky_wheel      iterations; members that failed come first in the next
    iteration          one construction: the most difficult members first
    search_state       capacity matrices, and the propagators of each class
    propagators        policies as filters of hosts; balanced_counts
    domain_ranking     domains in the order of their estimated capacity
    capacity_matrices  capacity by host and class  <- allocation_options
    candidate_list     restricted host sets for the integer program
    assignment         a complete plan on a search state
"""
