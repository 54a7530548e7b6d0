"""`make bench`: every benchmark in turn."""

from . import facts, imports, matmul, models

imports.main()
matmul.main()
facts.main()
models.main()
