"""Scalar expressions shared by relay shapes, te and tir, and what can be proved about them."""
