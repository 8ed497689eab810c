"""`python -m adk_prism.cli`: the same as `adk-prism`."""

import sys

from adk_prism.cli import main

sys.exit(main())
