"""Who holds what in additive sharing between two proxies: x = x_0 + x_1, proxy i holds x_i.

The helper's part of everything is zero, so it runs the same algorithms without a branch.
"""

from __future__ import annotations

from collections.abc import Mapping

from ppaurora.sharing.shares import Holder
from ppaurora.suites.role import Role

HOLDERS: Mapping[Role, Holder] = {role: Holder(role.title, (role.unit,)) for role in Role}
