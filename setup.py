"""Which folder is installed under which name? All else is in pyproject.toml.

``agents/`` and ``baselines/`` lie at the top, where one looks for them, and are installed inside
``prema_gym``: their short names belong to other packages too (``openai-agents``, say).
"""

from setuptools import find_packages, setup

INSIDE = ("agents", "baselines")

setup(
    packages=[
        *find_packages(include=["prema_gym", "prema_gym.*"]),
        *(
            f"prema_gym.{name}"
            for top in INSIDE
            for name in find_packages(include=[top, f"{top}.*"])
        ),
    ],
    package_dir={f"prema_gym.{top}": top for top in INSIDE},
)
