"""Every text that a person reads on a screen, by key: a table for each part, put together in `strings.tables`."""
