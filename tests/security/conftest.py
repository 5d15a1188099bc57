"""A world to be attacked, and the command line."""

from tests.cli.conftest import rewardgen  # noqa: F401  (a fixture)
from tests.sandbox.conftest import world  # noqa: F401  (a fixture)
