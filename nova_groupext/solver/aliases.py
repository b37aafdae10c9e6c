# SPDX-License-Identifier: Apache-2.0
"""Type aliases: what a string or a mapping in a signature stands for."""

from collections.abc import Mapping
from typing import Any
from typing import TypeAlias

#: Path name of a member, member set, node or relationship: ``workers/web-3``;
#: of a member of another group with a leading slash, see language.paths.
Path: TypeAlias = str

#: Member paths of a policy or relationship: one set, or those of each part.
Sides: TypeAlias = tuple[tuple[Path, ...], ...]

HostId: TypeAlias = str

#: Name of a topology level: ``host``, ``rack``.
Level: TypeAlias = str

#: Name of a domain, unique within its level.
Domain: TypeAlias = str

#: Amounts by resource.
Amounts: TypeAlias = dict[str, int]

#: JSON object whose keys depend on the input.
JsonObject: TypeAlias = dict[str, Any]

#: JSON schema of a value.
Schema: TypeAlias = Mapping[str, Any]
