"""Code generators: a folder a backend, each exporting one object named `backend`."""
