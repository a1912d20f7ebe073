"""Evaluators: one file a kind; `registry` builds them by name."""
