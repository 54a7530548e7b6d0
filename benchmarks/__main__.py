"""`make bench`: imports, the lesson's matrix product, facts, operators and networks, in turn."""

import sys

from . import facts, imports, kernels, matmul, models

imports.main()
matmul.main()
facts.main()
sys.exit(max(kernels.main(), models.main()))
