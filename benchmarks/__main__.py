"""`make bench`: every benchmark in turn."""

from . import imports, matmul, models, schedules

imports.main()
matmul.main()
schedules.main()
models.main()
