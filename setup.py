"""Which folder is installed under which name? All else is in pyproject.toml.

``agents/`` and ``baselines/`` lie at the top, where one looks for them, and are installed inside
``prema_gym``: their short names belong to other packages too (``openai-agents``, say). The command
starts in a module beside ``prema_gym``, which sees an interrupt while that is imported.
"""

import shutil

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py

INSIDE = ("agents", "baselines")


class FreshBuild(build_py):
    """Modules that were moved or removed since the last build are in no wheel."""

    def run(self) -> None:
        """Copy the modules into an empty folder; an editable install copies none."""
        if not self.editable_mode:
            shutil.rmtree(self.build_lib, ignore_errors=True)
        super().run()


setup(
    packages=[
        *find_packages(include=["prema_gym", "prema_gym.*"]),
        *(
            f"prema_gym.{name}"
            for top in INSIDE
            for name in find_packages(include=[top, f"{top}.*"])
        ),
    ],
    py_modules=["prema_gym_command"],
    package_dir={f"prema_gym.{top}": top for top in INSIDE},
    cmdclass={"build_py": FreshBuild},
)
