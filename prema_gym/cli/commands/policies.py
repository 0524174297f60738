"""`prema-gym policies`: which policies have a name?"""

from __future__ import annotations

from prema_gym.cli.naming import described
from prema_gym.cli.options import FormatOption
from prema_gym.cli.printing import Format, print_rows


def policies(format: FormatOption = Format.table) -> None:
    """List the policies: rule, source, mechanisms, parameters."""
    from prema_gym import baselines
    from prema_gym.views.listings import policy_rows

    print_rows(policy_rows(described(), baselines.as_text), format, leave_out=("mechanisms",))
