"""The text of loop programs: names, printer and parser; the public entry is `workbench.tir.script`."""
