"""Classic `contrib.debugger`."""
