# SPDX-License-Identifier: Apache-2.0
"""Does an answer file hold for a problem?

``shape`` reads the file and ``verify`` judges it: ``placed`` asks the rules,
``refused`` asks the solver again, with problems that it makes from the
answer's words alone.
"""
