"""`make bench`: every benchmark in turn."""

from . import facts, imports, kernels, matmul, models

imports.main()
matmul.main()
facts.main()
kernels.main()
models.main()
