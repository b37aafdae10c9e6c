# SPDX-License-Identifier: Apache-2.0
"""Plans in milliseconds: seats taken one after the other, with look-ahead.

::

    greedy    attempts, each raising what failed before
    attempt   one attempt: hardest first, least lost
    setting   who guards which unit
    guards    policies as the hosts that they allow
    board     the cloud as arrays
"""
