"""`make bench`: every benchmark in turn."""

from . import imports, matmul, models

imports.main()
matmul.main()
models.main()
