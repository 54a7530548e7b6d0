"""The foundation: nodes, dtypes, errors, modules, rewriting, passes, origins.  Knows nothing of machine learning."""
