"""`make bench`: every benchmark in turn."""

from . import imports, models

imports.main()
models.main()
