# SPDX-License-Identifier: Apache-2.0
"""Environment of alembic."""
