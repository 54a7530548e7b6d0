"""Ratios against peers, run side by side in separate processes."""
