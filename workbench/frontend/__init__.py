"""Importers: a folder a format.  Each brings a foreign model to a relay module, never running any of its code."""
