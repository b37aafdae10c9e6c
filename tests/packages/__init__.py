# SPDX-License-Identifier: Apache-2.0
"""Building, installing and using each distribution on its own.

Archives are built from the files of the work tree and installed into
environments of their own, the only place where they are imported.
"""
