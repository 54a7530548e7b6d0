"""Facts about loop IR: its tree, affine forms, regions, bindings, dependences.  Nothing here changes a program."""
