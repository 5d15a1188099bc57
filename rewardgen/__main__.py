"""`python -m rewardgen`."""

import sys

from rewardgen.cli.app import main

sys.exit(main())
