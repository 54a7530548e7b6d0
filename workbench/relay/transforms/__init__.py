"""Graph passes, one file each; `all_passes` imports them all."""
