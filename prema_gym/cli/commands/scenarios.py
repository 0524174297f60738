"""`prema-gym scenarios`: which scenarios have a name?"""

from __future__ import annotations

from prema_gym.cli.options import FormatOption
from prema_gym.cli.printing import Format, print_rows


def scenarios(format: FormatOption = Format.table) -> None:
    """List the registered scenarios."""
    from prema_gym.views.listings import scenario_rows

    print_rows(scenario_rows(), format)
